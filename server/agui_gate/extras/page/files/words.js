/** What the page calls things. */

/** What a call is at. */
export const LABELS = {
  sending: "Sending",
  running: "Running",
  approved: "Approved",
  waiting: "Waiting for you",
  done: "Done",
  error: "Failed",
  unknown: "Not known whether it took effect",
  rejected: "Rejected",
  superseded: "Superseded",
  expired: "Expired",
  stopped: "Stopped",
  deleted: "Deleted",
};
