/** How a tool call stands, from what the chat knows about it. Pure. */

import { parseObject } from "agui-gate-components/core/json.js";
import type { IconName } from "../confirm-card/Icon";
import type { State } from "agui-gate-components/core/types.js";

export type Status = "running" | "waiting" | "done" | "error" | "unknown" | "rejected" | "superseded" | "expired" | "stopped";

export const LOOKS: Record<Status, { label: string; icon: IconName | null }> = {
  running: { label: "Running", icon: null },
  waiting: { label: "Waiting for you", icon: "gate" },
  done: { label: "Done", icon: "check" },
  error: { label: "Failed", icon: "warning" },
  unknown: { label: "Not known", icon: "warning" },
  rejected: { label: "Rejected", icon: "cross" },
  superseded: { label: "Superseded", icon: "skip" },
  expired: { label: "Expired", icon: "clock" },
  stopped: { label: "Stopped", icon: "stop" },
};

const OUTCOMES: Record<string, Status> = {
  rejected: "rejected",
  denied: "rejected",
  superseded: "superseded",
  expired: "expired",
  cancelled: "stopped",
  error: "error",
  unknown: "unknown",
};

const STATES: Record<Exclude<State, "pending">, Status> = {
  claimed: "running",
  done: "done",
  failed: "error",
  unknown: "unknown",
  rejected: "rejected",
  superseded: "superseded",
  cancelled: "stopped",
  expired: "expired",
};

/** The status of a gated call by the server's record; null for one that waits, of which the chat knows more. */
export const recordStatus = (state: State | undefined): Status | null => (state === undefined || state === "pending" ? null : STATES[state]);

/** The server's word about a call that didn't run is `{status, message | error, reason?}`; tools may have a status of their own. */
export function resultStatus(result: string): Status {
  const { status, message, reason: _reason, error, ...others } = parseObject(result) ?? {};
  const official = Object.keys(others).length === 0 && (message !== undefined || error !== undefined);
  const outcome = official && typeof status === "string" ? OUTCOMES[status] : undefined;
  return outcome ?? (error === undefined ? "done" : "error");
}
