export { Inbox } from "./Inbox";
export { useInbox } from "./useInbox";
