export { Inbox } from "./Inbox";
