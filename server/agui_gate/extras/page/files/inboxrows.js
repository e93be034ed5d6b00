/** What the inbox shows of its entries (inbox.js). Pure. */

import { recordStatus } from "./callrows.js";
import { fromApproval } from "./components/core/asks.js";
import { earlierIn } from "./components/core/earlier.js";
import { unitsFor } from "./components/core/units.js";
import { humanize, inOrder, summary } from "./components/core/values.js";
import { isOver, isWaiting } from "./inbox.js";
import { adviceFor } from "./notices.js";
import { isServed, schemaOf } from "./team.js";

/** How many of them can be decided. */
export const countOf = (entries) => entries.filter(isWaiting).length;

/**
 * A row for `createItem`. `call` is a row of the conversation for it (rows.js), null until its chat was looked at.
 * `threads` are the chats known by now, `current` the open one's id, `agents` what is served (team.js).
 */
export function toItem(entry, { threads, current, agents }) {
  const { record, sending, calls, problem } = entry;
  const schema = schemaOf(agents, record.agent, record.tool);
  const thread = threads.find(({ id }) => id === record.thread_id);
  const title = thread?.title ?? entry.title;
  const asker = (thread ? record.agent === thread.agent : isServed(agents, record.agent)) ? null : (record.agent ?? null);
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
    asker,
    status,
    call: isWaiting(entry) && !sending && !calls ? null : callRow(entry, schema, status, asker),
    note: noteOf(entry),
    isGone: entry.gone,
    needsToken: problem?.code === "unauthorized",
    thread: { id: record.thread_id, agent: thread?.agent ?? record.agent },
  };
}

function statusOf(entry) {
  const decided = recordStatus(entry.record);
  if (decided) return decided;
  if (entry.gone) return "deleted";
  return entry.sending ? "sending" : "waiting";
}

function callRow(entry, schema, status, asker) {
  const { record, sending, calls, late } = entry;
  const ask = isWaiting(entry) && !sending ? { ...askOf(entry, schema), agent: asker } : null;
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
    earlier: ask && earlierIn(ask, calls),
  };
}

function askOf({ record, said, problem }, schema) {
  return { ...fromApproval(record, schema), said, refused: problem ? whyNot(problem) : undefined };
}

/** Why it wasn't decided, and what to do; what was refused says that itself. */
const whyNot = ({ code, message }) => (code === "approval_refused" ? message : `${message} ${adviceFor(code)}`);

function noteOf(entry) {
  if (entry.gone) return "This chat was deleted.";
  return isOver(entry) ? entry.note : null;
}
