import type { Ask, Decision } from "./ApprovalCard";
import { Icon, type IconName } from "./Icon";
import { reveal } from "./invisible";
import { useLeft, useUnsent } from "./Ledger";
import { callText, changes, outcome, unitsOf, verdict, type CallRecord } from "./records";
import { humanize } from "./values";
import "./confirm-card.css";
import "./told.css";

/** What the server says became of a call: `Approved by alice at 12:03, in the chat · Refund · 1003 · 20 € · Amount 20 € → 15 €`. `agent`: who asked, where that is not plain. `isUnsent`: an answer was about to be given in a place that the ledger doesn't know of. */
export function RecordLine({ record, mine, late = isLate(record, mine), isUnsent = false, agent }: { record: CallRecord; mine?: Decision; late?: boolean; isUnsent?: boolean; agent?: string }) {
  const { state, decision } = record;
  const unsent = useUnsent(record.call_id) || isUnsent;
  const call = [askedBy(agent), callText(record.tool, record.arguments, unitsOf(record))].filter(Boolean).join(" · ");
  const text = recordText(record, mine, { call, late, unsent, isLeft: useLeft(record) });
  return <Line icon={decision ? (decision.approved ? "check" : "cross") : "clock"} text={text} state={state} isLate={late || unsent} />;
}

/** The same in words; `call` says which one it is, where that isn't plain. `mine` was answered here: if the record says otherwise, it came too `late`. `unsent`: somebody was about to answer here. */
export function recordText(record: CallRecord, mine: Decision | undefined, { call = "", late = isLate(record, mine), unsent = false, isLeft = false }): string {
  const said = verdict(record);
  const parts = [
    late || (unsent && record.decision) ? `Already ${said.charAt(0).toLowerCase()}${said.slice(1)}` : said,
    call,
    record.decision?.reason && `“${reveal(record.decision.reason)}”`,
    ...changes(record.arguments, record.effective_arguments, unitsOf(record)),
    isLeft ? "nothing is at work on it" : outcome(record),
    late && `your answer${mine?.approved ? "" : ", to reject it,"} came too late`,
    unsent && "what you were about to answer was not sent",
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Whether something else was decided than was answered here. */
export function isLate({ state, decision, ...record }: CallRecord, mine: Decision | undefined): boolean {
  if (!mine || state === "pending") return false;
  if (decision?.approved !== mine.approved) return true;
  const isEdited = JSON.stringify(record.effective_arguments) !== JSON.stringify(record.arguments);
  return mine.approved && isEdited !== (mine.edits !== undefined);
}

/** What was answered here, as long as the server hasn't said what came of it. */
export function AnswerLine({ ask, decision: { approved, reason, edits } }: { ask: Ask; decision: Decision }) {
  const answer = `Your answer: ${approved ? "approve" : "reject"}`;
  const parts = [answer, askedBy(ask.agent), callText(ask.tool, ask.arguments, ask.unit), ...changes(ask.arguments, edits && { ...ask.arguments, ...edits }, ask.unit), reason && `“${reveal(reason)}”`];
  return <Line icon="send" text={parts.filter(Boolean).join(" · ")} state="answered" isLate={false} />;
}

const askedBy = (agent: string | undefined): string => (agent ? `asked by ${reveal(humanize(agent))}` : "");

/** For a question of a chat that isn't there any more. */
export const GoneLine = () => <Line icon="bin" text="Not decided, as this chat was deleted" state="cancelled" isLate={false} />;

function Line({ icon, text, state, isLate }: { icon: IconName; text: string; state: string; isLate: boolean }) {
  return (
    <p className="gate-decision" data-testid="gate-decision" data-state={state} data-late={isLate} role={isLate ? "alert" : undefined}>
      <Icon name={icon} />
      <span>{text}</span>
    </p>
  );
}
