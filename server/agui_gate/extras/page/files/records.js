/**
 * Where the records of a thread's gated calls are (what they say: `components/core/records.js`). Whole ones come with a
 * thread; messages and results have short ones in their metadata, which are merged into those. Pure.
 */

export const CARD_TOOL = "confirm_changes"; // shows a gated call to clients that know no interrupts

const KEY = "agui-gate";

/** What `message` or a call says in its metadata, or null. */
export const fromMetadata = (item) => item?.metadata?.[KEY] ?? null;

/** The records in the metadata of messages and of their calls, as entries; those of cards are their calls'. */
export function fromMessages(messages) {
  const calls = messages.flatMap((message) => message.toolCalls ?? []);
  const cards = new Set(calls.filter((call) => call.function.name === CARD_TOOL).map((call) => call.id));
  const results = messages.filter((message) => message.role === "tool").map((message) => [message.toolCallId, fromMetadata(message)]);
  return [...calls.map((call) => [call.id, fromMetadata(call)]), ...results].filter(([callId]) => !cards.has(callId));
}

/** Whole records as entries. */
export const entriesOf = (calls) => calls.map((record) => [record.call_id, record]);
