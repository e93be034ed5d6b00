import { useAgent, useInterrupt } from "@copilotkit/react-core/v2";
import { useEffect, useState } from "react";
import { ApprovalCard, DecisionLine, together, type Ask, type Decision } from "../confirm-card";
import { useOver } from "../confirm-card/useCountdown";
import { makeFields, type Schema } from "../confirm-card/fields";
import { withoutRefusal, type Json } from "../confirm-card/values";

/** The parts of an AG-UI interrupt that are used here. */
interface Interrupt {
  id: string;
  message?: string;
  responseSchema?: unknown;
  metadata?: Record<string, unknown>;
}

/** Shows the chat's open interrupts as cards. Render it once inside `CopilotKitProvider`; it draws nothing by itself. `onDecide`: a decision was made, which goes out with the last one. */
export function Interrupts({ onDecide }: { onDecide?: () => void }) {
  useInterrupt({
    render: ({ interrupts, resolve }) => (
      <Cards key={interrupts.map(({ id }) => id).join()} interrupts={interrupts} onAnswer={(id, payload) => { onDecide?.(); void resolve(payload, id); }} />
    ),
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
  const open = interrupts.filter(({ id }) => !decisions[id]);
  useAskedAgain(() => setDecisions({}));
  useExpiry(interrupts, open, onAnswer);
  const count = together(open.map(toAsk), Date.now());
  const decide = (interrupt: Interrupt, ask: Ask, decision: Decision) => {
    setDecisions((before) => ({ ...before, [interrupt.id]: decision }));
    onAnswer(interrupt.id, toPayload(ask, decision));
  };
  const all = { count, approve: () => open.forEach((interrupt) => decide(interrupt, toAsk(interrupt), { approved: true })) };
  return (
    <div className="gate-stack">
      {interrupts.map((interrupt) => {
        const ask = toAsk(interrupt);
        const decision = decisions[interrupt.id];
        if (decision) return <DecisionLine key={interrupt.id} ask={ask} decision={decision} />;
        return <ApprovalCard key={interrupt.id} ask={ask} onDecide={(made) => decide(interrupt, ask, made)} all={count > 0 && interrupt === open[0] ? all : undefined} />;
      })}
      {interrupts.length > 1 && open.length > 0 && <p className="gate-quiet" role="status">{interrupts.length - open.length} of {interrupts.length} decided; the answers go out together.</p>}
    </div>
  );
}

const EXPIRED: Json = { approved: false, reason: "It expired." };

/**
 * The client refuses every message as long as an interrupt has no answer, and an expired one can't get any. If it was the
 * only kind left, the others' answers go out with it (the server knows best that it expired); if nothing was decided, the
 * client forgets it, and the next message goes on.
 */
function useExpiry(interrupts: Interrupt[], open: Interrupt[], onAnswer: Props["onAnswer"]) {
  const { agent } = useAgent({ updates: [] });
  const over = useOver(open.map((interrupt) => toAsk(interrupt).expiresAt));
  const isOver = open.length > 0 && over.every(Boolean);
  useEffect(() => {
    if (!isOver) return;
    if (open.length === interrupts.length) agent.pendingInterrupts = [];
    else open.forEach(({ id }) => onAnswer(id, EXPIRED));
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

function toAsk({ message: asked, responseSchema, metadata = {} }: Interrupt): Ask {
  const refused = typeof metadata.refused === "string" ? metadata.refused : undefined;
  const message = withoutRefusal(asked, refused);
  const tool = typeof metadata.tool === "string" ? metadata.tool : "";
  const values = (metadata.arguments ?? {}) as Json;
  const { properties, $defs } = (responseSchema ?? {}) as Schema;
  const schema = properties?.editedArgs;
  const editable = Array.isArray(metadata.editable) ? (metadata.editable as string[]) : schema ? Object.keys(schema.properties ?? values) : [];
  return {
    tool,
    arguments: values,
    message: message === `Run ${tool}?` ? undefined : message, // says no more than the title
    refused,
    expiresAt: typeof metadata.expires_at === "string" ? metadata.expires_at : undefined,
    fields: makeFields(editable, values, schema, $defs),
  };
}

/** The answer in the shape of the interrupt's `responseSchema`: an edit replaces all arguments. */
function toPayload(ask: Ask, { approved, reason, edits }: Decision): Json {
  const payload: Json = { approved };
  if (reason) payload.reason = reason;
  if (edits) payload.editedArgs = { ...ask.arguments, ...edits };
  return payload;
}
