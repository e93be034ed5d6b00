export { Activity, activities } from "./Activity";
