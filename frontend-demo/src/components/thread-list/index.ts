export { ThreadList } from "./ThreadList";
export { useThreadList, type ThreadHead } from "./useThreadList";
