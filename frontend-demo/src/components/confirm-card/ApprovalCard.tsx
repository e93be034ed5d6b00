import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { Arguments } from "./Arguments";
import { Earlier, type EarlierCall } from "./Earlier";
import { EditForm } from "./EditForm";
import { dropDraft, readDraft } from "./editDrafts";
import type { Field, Schema } from "./fields";
import { Icon } from "./Icon";
import { Shown } from "./Shown";
import type { Unit } from "./units";
import { formatLeft, useCountdown } from "./useCountdown";
import { humanize, type Json } from "./values";
import "./confirm-card.css";

/** What is asked, whichever way it came (a card or an interrupt). */
export interface Ask {
  /** The call's or the approval's id. */
  id: string;
  tool: string;
  arguments: Json;
  /** Who asks, where that is not the agent of the chat. */
  agent?: string;
  /** A sentence for the person; without one the card says what it always says. */
  message?: string;
  expiresAt?: string;
  /** Why the last answer wasn't taken, where it is asked again. */
  refused?: string;
  /** What may be changed; empty: nothing. */
  fields: Field[];
  /** Calls of the same tool that ran in this chat. */
  earlier: EarlierCall[];
  /** What the numbers are in. */
  unit: Unit;
  /** The JSON Schema of the arguments, where it is known. */
  schema?: Schema;
}

export interface Decision {
  approved: boolean;
  reason?: string;
  /** The changed values, only where something was changed. */
  edits?: Json;
}

interface Props {
  ask: Ask;
  onDecide: (decision: Decision) => void;
  /** It was taken away while the person was about to answer it. */
  onUnsent?: () => void;
  /** Where several may be approved together: how many, and what does it. */
  all?: { count: number; approve: () => void };
}

/** One gated call: what would run, with which arguments, for how long it can be answered, and the decision. */
export function ApprovalCard({ ask, onDecide: decide, onUnsent, all }: Props) {
  const [mode, setMode] = useState<"view" | "edit" | "reject">(() => (ask.fields.length > 0 && readDraft(ask.id) ? "edit" : "view"));
  const isAnswered = useRef(false);
  useGoing(() => mode !== "view" && !isAnswered.current && onUnsent?.());
  const onDecide = (decision: Decision) => {
    isAnswered.current = true;
    dropDraft(ask.id);
    decide(decision);
  };
  const titleId = useId();
  const card = useRef<HTMLElement>(null);
  const back = () => {
    dropDraft(ask.id);
    setMode("view");
    card.current?.focus(); // the button that had the focus is gone
  };
  const left = useCountdown(ask.expiresAt);
  const expired = left === 0;
  /** Only while the focus is on the card, and not where one types: no letter decides by accident. */
  const press = (event: KeyboardEvent) => {
    const key = event.key.toLowerCase();
    const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (event.key === "Escape" && mode !== "view") back();
    else if (isTyping || expired || mode !== "view" || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.nativeEvent.isComposing) return;
    else if (key === "a") onDecide({ approved: true });
    else if (key === "e" && ask.fields.length > 0) setMode("edit");
    else if (key === "r") setMode("reject");
    else return;
    event.preventDefault(); // the letter is not typed into the field that opens
    event.stopPropagation();
  };
  return (
    <section ref={card} className="gate-card" tabIndex={-1} onKeyDown={press} aria-labelledby={titleId} data-testid="gate-card" data-tool={ask.tool} data-mode={mode}>
      <header className="gate-head">
        <span className="gate-badge"><Icon name="gate" /></span>
        <div className="gate-heading">
          <h2 id={titleId}><span className="gate-hidden">Approval needed: </span><span title={ask.tool}><Shown text={humanize(ask.tool)} /></span></h2>
          {ask.agent && <p className="gate-asker" data-testid="gate-asker"><strong><Shown text={humanize(ask.agent)} /></strong> asks</p>}
          <p><Shown text={headline(ask, mode, expired)} /></p>
        </div>
        {left !== null && (
          <span className="gate-expiry" data-soon={left < 60} role={expired ? "status" : "timer"}>
            {expired ? "Expired" : `Expires in ${formatLeft(left)}`}
          </span>
        )}
      </header>
      <fieldset className="gate-body" disabled={expired}>
        <legend className="gate-hidden">Decide: {humanize(ask.tool)}</legend>
        {ask.refused && <p className="gate-refused" role="alert"><Icon name="warning" />{ask.refused}</p>}
        <Earlier ask={ask} />
        {mode === "view" && <View ask={ask} onDecide={onDecide} all={all} onMode={setMode} />}
        {mode === "edit" && (
          <EditForm id={ask.id} fields={ask.fields} values={ask.arguments} unit={ask.unit} tool={ask.tool} schema={ask.schema} onSubmit={(edits) => onDecide(withEdits(edits))}>
            <div className="gate-actions">
              <button className="gate-button primary" type="submit"><Icon name="check" />Approve with changes</button>
              <button className="gate-button" type="button" onClick={back}>Back</button>
            </div>
          </EditForm>
        )}
        {mode === "reject" && <Reject ask={ask} onDecide={onDecide} onBack={back} />}
      </fieldset>
    </section>
  );
}

/** `act`, as it was drawn last, when the component goes. */
function useGoing(act: () => void) {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  useEffect(() => () => latest.current(), []);
}

const UNTIL = "Nothing happens until you decide.";

function headline({ message, agent }: Ask, mode: "view" | "edit" | "reject", expired: boolean): string {
  if (expired) return "Nobody decided in time, so it did not run. Send a message to continue.";
  if (mode === "edit") return "Change the arguments, then approve.";
  if (mode === "reject") return "It won't run, and the assistant continues without it.";
  return message ?? (agent ? UNTIL : `The assistant wants to do this. ${UNTIL}`);
}

const withEdits = (edits: Json): Decision => (Object.keys(edits).length > 0 ? { approved: true, edits } : { approved: true });

function View({ ask, onDecide, all, onMode }: Props & { onMode: (mode: "edit" | "reject") => void }) {
  return (
    <>
      <Arguments values={ask.arguments} unit={ask.unit} tool={ask.tool} schema={ask.schema} />
      <div className="gate-actions">
        <button className="gate-button primary" type="button" aria-keyshortcuts="a" onClick={() => onDecide({ approved: true })}><Icon name="check" />Approve<Key letter="A" /></button>
        {all && <button className="gate-button" type="button" onClick={all.approve}><Icon name="check" />Approve all {all.count}</button>}
        {ask.fields.length > 0 && <button className="gate-button" type="button" aria-keyshortcuts="e" onClick={() => onMode("edit")}><Icon name="edit" />Edit<Key letter="E" /></button>}
        <button className="gate-button danger" type="button" aria-keyshortcuts="r" onClick={() => onMode("reject")}><Icon name="cross" />Reject<Key letter="R" /></button>
      </div>
    </>
  );
}

/** Which key does the same while the focus is on the card; `aria-keyshortcuts` says it to others. */
const Key = ({ letter }: { letter: string }) => <kbd className="gate-key" aria-hidden="true">{letter}</kbd>;

function Reject({ ask, onDecide, onBack }: Props & { onBack: () => void }) {
  const [reason, setReason] = useState("");
  const id = useId();
  const decide = () => onDecide(reason.trim() ? { approved: false, reason: reason.trim() } : { approved: false });
  return (
    <form className="gate-form" onSubmit={(event) => { event.preventDefault(); decide(); }}>
      <Arguments values={ask.arguments} unit={ask.unit} tool={ask.tool} schema={ask.schema} />
      <div className="gate-field">
        <label htmlFor={id}>Reason (optional)</label>
        <input id={id} type="text" name="reason" autoFocus autoComplete="off" value={reason} onChange={(event) => setReason(event.target.value)} />
      </div>
      <div className="gate-actions">
        <button className="gate-button reject" type="submit"><Icon name="cross" />Reject</button>
        <button className="gate-button" type="button" onClick={onBack}>Back</button>
      </div>
    </form>
  );
}
