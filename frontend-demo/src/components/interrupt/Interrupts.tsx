import { useAgent, useInterrupt } from "@copilotkit/react-core/v2";
import { useEffect, useState } from "react";
import { AnswerLine, ApprovalCard, GoneLine, RecordLine, together, type Ask, type Decision, type EarlierCall } from "../confirm-card";
import { editedSchema, makeFields, type Schema } from "../confirm-card/fields";
import { useBusy, useGone, useRecords, useStore } from "../confirm-card/Ledger";
import { isClosed, type CallRecord } from "../confirm-card/records";
import { serverNow } from "../confirm-card/serverTime";
import { unitsFor } from "../confirm-card/units";
import { useOver } from "../confirm-card/useCountdown";
import { theQuestion, type Json } from "../confirm-card/values";

/** The parts of an AG-UI interrupt that are used here. */
interface Interrupt {
  id: string;
  toolCallId?: string;
  message?: string;
  responseSchema?: unknown;
  metadata?: Record<string, unknown>;
}

/** Shows the chat's open interrupts as cards. Render it once inside `CopilotKitProvider`; it draws nothing by itself. `onDecide`: a decision was made, which goes out with the last one. */
export function Interrupts({ onDecide }: { onDecide?: () => void }) {
  const store = useStore();
  useInterrupt({
    render: ({ interrupts, resolve }) => {
      const answer = (id: string, payload: Json) => {
        store.hasUnsent = true;
        store.given.set(id, payload);
        onDecide?.();
        void resolve(payload, id);
      };
      return <Cards key={interrupts.map(({ id }) => id).join()} interrupts={interrupts} onAnswer={answer} />;
    },
  });
  return null;
}

interface Props {
  interrupts: Interrupt[];
  onAnswer: (id: string, payload: Json) => void;
}

/** All of them at once; the chat sends the answers when the last one is there, so what is decided stays visible. */
function Cards({ interrupts, onAnswer }: Props) {
  const [decisions, setDecisions] = useState<Record<string, Decision>>({});
  const store = useStore();
  const isGone = useGone();
  const closed = useClosed(interrupts);
  const open = interrupts.filter(({ id }) => !decisions[id] && !closed[id]);
  useAskedAgain(() => {
    setDecisions({});
    store.askedAgain();
  });
  useRest(interrupts, decisions, closed, onAnswer);
  const count = together(open.map(toAsk), serverNow());
  const decide = (interrupt: Interrupt, ask: Ask, decision: Decision) => {
    setDecisions((before) => ({ ...before, [interrupt.id]: decision }));
    if (interrupt.toolCallId) store.decided(interrupt.toolCallId, decision);
    onAnswer(interrupt.id, toPayload(ask, decision));
  };
  if (interrupts.every(({ id }) => closed[id])) return null; // the chat's chips say it
  const all = { count, approve: () => open.forEach((interrupt) => decide(interrupt, toAsk(interrupt), { approved: true })) };
  return (
    <div className="gate-stack">
      {interrupts.map((interrupt) => {
        const ask = toAsk(interrupt);
        const decision = decisions[interrupt.id];
        const record = closed[interrupt.id];
        if (isGone && !record) return <GoneLine key={interrupt.id} />;
        if (record) return <RecordLine key={interrupt.id} record={record} mine={decision} agent={ask.agent} />;
        if (decision) return <AnswerLine key={interrupt.id} ask={ask} decision={decision} />;
        return <ApprovalCard key={interrupt.id} ask={ask} onDecide={(made) => decide(interrupt, ask, made)} onUnsent={() => store.leave(interrupt.toolCallId ?? interrupt.id)} all={count > 0 && interrupt === open[0] ? all : undefined} />;
      })}
      {interrupts.length > 1 && open.length > 0 && <p className="gate-quiet" role="status">{interrupts.length - open.length} of {interrupts.length} decided; the answers go out together.</p>}
    </div>
  );
}

/** Those that the server's ledger says are closed, by id. */
function useClosed(interrupts: Interrupt[]): Record<string, CallRecord | undefined> {
  const records = useRecords();
  const found = interrupts.map(({ id }) => [id, records.get(id)] as const);
  return Object.fromEntries(found.filter(([, record]) => isClosed(record)));
}

const EXPIRED: Json = { approved: false, reason: "It expired." };

/**
 * The client refuses every message as long as an interrupt has no answer, and one that expired or was decided elsewhere
 * gets none from the person. If only such are left, the answers that were given go out with the ledger's word for them,
 * once nothing is at work in the chat; if none was given, the client forgets them, and the next message goes on.
 */
function useRest(interrupts: Interrupt[], decisions: Record<string, Decision>, closed: Record<string, CallRecord | undefined>, onAnswer: Props["onAnswer"]) {
  const { agent } = useAgent({ updates: [] });
  const over = useOver(interrupts.map((interrupt) => toAsk(interrupt).expiresAt));
  const rest = interrupts.filter(({ id }) => !decisions[id]);
  const isUnanswered = rest.length === interrupts.length;
  const isBusy = useBusy() && !isUnanswered;
  const isOver = rest.length > 0 && !isBusy && interrupts.every(({ id }, at) => decisions[id] || closed[id] || over[at]);
  useEffect(() => {
    if (!isOver) return;
    if (isUnanswered) agent.pendingInterrupts = [];
    else rest.forEach(({ id }) => onAnswer(id, closed[id]?.decision ? { approved: closed[id].decision.approved } : EXPIRED));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once, when it is over
  }, [isOver]);
}

/** A run ended and still asks: an answer wasn't taken (an edit that doesn't fit, say), and is wanted again. */
function useAskedAgain(reset: () => void) {
  const { agent } = useAgent({ updates: [] });
  useEffect(() => {
    const { unsubscribe } = agent.subscribe({ onRunFinishedEvent: ({ outcome }) => (outcome === "interrupt" ? reset() : undefined) });
    return unsubscribe;
    // eslint-disable-next-line react-hooks/exhaustive-deps -- a setter
  }, [agent]);
}

function toAsk({ id, message: asked, responseSchema, metadata = {} }: Interrupt): Ask {
  const refused = typeof metadata.refused === "string" ? metadata.refused : undefined;
  const ran = Array.isArray(metadata.already_ran) ? (metadata.already_ran as EarlierCall[]) : [];
  const agent = typeof metadata.agent === "string" ? metadata.agent : undefined;
  const message = theQuestion(asked, { refused, agent, already_ran: ran });
  const tool = typeof metadata.tool === "string" ? metadata.tool : "";
  const values = (metadata.arguments ?? {}) as Json;
  const response = (responseSchema ?? {}) as Schema;
  const listed = Array.isArray(metadata.editable) ? (metadata.editable as string[]) : undefined;
  const schema = editedSchema(response, listed ?? []);
  const editable = listed ?? (schema ? Object.keys(schema.properties ?? values) : []);
  return {
    id,
    tool,
    arguments: values,
    agent,
    message: message === `Run ${tool}?` ? undefined : message, // says no more than the title
    refused,
    expiresAt: typeof metadata.expires_at === "string" ? metadata.expires_at : undefined,
    fields: makeFields(editable, values, schema, response.$defs),
    earlier: ran,
    unit: unitsFor(values, { schema, message }),
    schema,
  };
}

/** The answer in the shape of the interrupt's `responseSchema`: an edit replaces all arguments. */
function toPayload(ask: Ask, { approved, reason, edits }: Decision): Json {
  const payload: Json = { approved };
  if (reason) payload.reason = reason;
  if (edits) payload.editedArgs = { ...ask.arguments, ...edits };
  return payload;
}
