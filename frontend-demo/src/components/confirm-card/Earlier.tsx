import { Icon } from "./Icon";
import { useAllRecords, useRecord } from "./Ledger";
import { callText, outcome, ran, time, unitsOf, type CallRecord } from "./ledger";
import type { Json } from "./values";

const MOST = 3;

/** What has already run of this tool in this chat, so that nobody agrees to the same thing twice without knowing. */
export function Earlier({ tool, id, values }: { tool: string; id: string | undefined; values: Json }) {
  const self = useRecord(id);
  const before = useAllRecords().filter((record) => record !== self && record.tool === tool && ran(record));
  if (before.length === 0) return null;
  const same = before.some((record) => JSON.stringify(record.effective_arguments) === JSON.stringify(values));
  return (
    <div className="gate-earlier" data-testid="gate-earlier" data-same={same}>
      <Icon name={same ? "warning" : "clock"} />
      <div>
        <p>{same ? "The very same already ran in this chat:" : "Already ran in this chat:"}</p>
        <ul>
          {before.slice(-MOST).map((record) => <li key={record.id}>{ranText(record)}</li>)}
          {before.length > MOST && <li>and {before.length - MOST} more before</li>}
        </ul>
      </div>
    </div>
  );
}

/** `refund · 1003 · 12.5 € at 12:03, in an answer that was replaced`. */
export function ranText(record: CallRecord): string {
  const come = outcome(record);
  const replaced = record.replaced ? ", in an answer that was replaced" : "";
  return `${callText(record.tool, record.effective_arguments, unitsOf(record))}${time(record.decision?.at ?? null)}${come && ` (${come})`}${replaced}`;
}

/** What ran in answers that are no longer part of the conversation. It is done all the same. */
export function Replaced() {
  const gone = useAllRecords().filter((record) => record.replaced && ran(record));
  if (gone.length === 0) return null;
  return (
    <details className="gate-replaced" data-testid="gate-replaced">
      <summary>
        <Icon name="retry" />
        {gone.length === 1 ? "1 action ran in an answer that was replaced" : `${gone.length} actions ran in answers that were replaced`}
      </summary>
      <ul>
        {gone.map((record) => <li key={record.id}>{ranText(record)}</li>)}
      </ul>
    </details>
  );
}
