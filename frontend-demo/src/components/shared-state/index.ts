export { SharedState } from "./SharedState";
