import type { Ask } from "./ApprovalCard";
import { Icon } from "./Icon";
import { useAllRecords, useRecord } from "./Ledger";
import { callText, outcome, ran, time, unitsOf, type CallRecord, type State } from "./records";
import type { Unit } from "./units";
import type { Json } from "./values";

/** A call of the same tool that ran in this chat, as the server says beside a question (`already_ran`). */
export interface EarlierCall {
  arguments: Json;
  at: string | null;
  state: State;
  replaced: boolean;
}

const MOST = 3;

/** What has already run of this tool in this chat, so that nobody agrees to the same thing twice without knowing. */
export function Earlier({ ask }: { ask: Ask }) {
  const self = useRecord(ask.id);
  const known = useAllRecords().filter((record) => record !== self && record.tool === ask.tool && ran(record)).map(toEarlier);
  const wasReplaced = (at: string | null) => ask.earlier.some((call) => call.replaced && call.at === at); // the records may be older
  const newest = known.map((call) => ({ ...call, replaced: call.replaced || wasReplaced(call.at) }));
  const all = newest.length < ask.earlier.length ? ask.earlier : newest; // what came since is only in the records
  const before = all.filter((call) => isAboutSame(ask, call.arguments));
  if (before.length === 0) return null;
  const same = before.filter((call) => canonical(call.arguments) === canonical(ask.arguments));
  const isSame = same.length > 0;
  const told = (isSame ? same : before).slice(-MOST);
  return (
    <div className="gate-earlier" data-testid="gate-earlier" data-same={isSame}>
      <Icon name={isSame ? "warning" : "clock"} />
      <div>
        <p>{isSame ? "The very same already ran in this chat:" : "Already ran in this chat:"}</p>
        <ul>
          {told.map((call, at) => <li key={at}>{text(ask.tool, call, ask.unit)}</li>)}
          {before.length > told.length && <li>and {before.length - told.length} more about the same</li>}
        </ul>
      </div>
    </div>
  );
}

/** Whether a call is about the thing that was dealt with: all text that a person can't change here is the same. */
function isAboutSame({ arguments: values, fields }: Ask, ranWith: Json): boolean {
  const names = Object.keys(values).filter((name) => typeof values[name] === "string" && !fields.some(({ path }) => path[0] === name));
  return names.every((name) => values[name] === ranWith[name]);
}

const canonical = (values: Json) => JSON.stringify(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));

const toEarlier = ({ effective_arguments, decision, state, replaced }: CallRecord): EarlierCall => ({ arguments: effective_arguments, at: decision?.at ?? null, state, replaced });

/** `Refund · 1003 · 12.50 € at 12:03, in an answer that was replaced`. */
function text(tool: string, call: EarlierCall, unit: Unit): string {
  const come = outcome(call);
  return `${callText(tool, call.arguments, unit)}${time(call.at)}${come && ` (${come})`}${call.replaced ? ", in an answer that was replaced" : ""}`;
}

/** The same for a record. */
export const ranText = (record: CallRecord): string => text(record.tool, toEarlier(record), unitsOf(record));
