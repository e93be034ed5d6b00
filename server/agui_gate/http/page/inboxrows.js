/** What the inbox shows of its entries (inbox.js). Pure. */

import { fromApproval } from "./asks.js";
import { humanize, inOrder, summary } from "./fields.js";
import { isOver, isWaiting } from "./inbox.js";
import { adviceFor } from "./notices.js";
import { hasRun } from "./records.js";
import { recordStatus } from "./rows.js";
import { unitsFor } from "./units.js";

/** How many of them can be decided. */
export const countOf = (entries) => entries.filter(isWaiting).length;

/**
 * A row for `createItem`. `call` is a row of the conversation for it (rows.js), null until its chat was looked at.
 * `threads` are the chats known by now, `current` the open one's id, `schemaOf(agent, tool)` a tool's JSON Schema.
 */
export function toItem(entry, { threads, current, schemaOf }) {
  const { record, sending, calls, problem } = entry;
  const schema = schemaOf(record.agent, record.tool);
  const title = threads.find(({ id }) => id === record.thread_id)?.title ?? entry.title;
  const status = statusOf(entry);
  return {
    kind: "inbox",
    key: record.id,
    title: humanize(record.tool),
    what: record.message || summary(inOrder(record.arguments, schema), unitsFor(record.arguments, { schema })),
    chat: title || (record.thread_id === current ? null : "New chat"),
    isCurrent: record.thread_id === current,
    asked: record.asked_at,
    expires: status === "waiting" ? record.expires_at : null,
    status,
    call: isWaiting(entry) && !sending && !calls ? null : callRow(entry, schema, status),
    note: noteOf(entry),
    isGone: entry.gone,
    needsToken: problem?.code === "unauthorized",
    thread: { id: record.thread_id, agent: record.agent },
  };
}

function statusOf(entry) {
  const decided = recordStatus(entry.record);
  if (decided) return decided;
  if (entry.gone) return "deleted";
  return entry.sending ? "sending" : "waiting";
}

function callRow(entry, schema, status) {
  const { record, sending, calls, late } = entry;
  const ask = isWaiting(entry) && !sending ? askOf(entry, schema) : null;
  return {
    callId: record.call_id,
    name: record.tool,
    arguments: JSON.stringify(record.arguments),
    result: record.result ?? null,
    status,
    record,
    late,
    answered: sending !== null,
    schema: schema ?? null,
    ask,
    draft: null,
    earlier: ask && earlierRuns(record, calls),
  };
}

function askOf({ record, said, problem }, schema) {
  return { ...fromApproval(record, schema), said, refused: problem ? whyNot(problem) : undefined };
}

/** Why it wasn't decided, and what to do; what was refused says that itself. */
const whyNot = ({ code, message }) => (code === "approval_refused" ? message : `${message} ${adviceFor(code)}`);

/** What the same tool already did in that chat. */
const earlierRuns = ({ id, tool }, calls) =>
  calls.filter((record) => record.id !== id && record.tool === tool && hasRun(record)).map((record) => ({ record, arguments: record.arguments }));

function noteOf(entry) {
  if (entry.gone) return "This chat was deleted.";
  return isOver(entry) ? entry.note : null;
}
