import { useAgent, useInterrupt } from "@copilotkit/react-core/v2";
import { fromInterrupt, toPayload, together, type Interrupt } from "agui-gate-components/core/asks.js";
import { isClosed } from "agui-gate-components/core/records.js";
import { serverNow } from "agui-gate-components/core/servertime.js";
import type { Json } from "agui-gate-components/core/types.js";
import { useContext, useEffect, useState } from "react";
import { Card, GoneLine, RecordLine, type Ask, type CallRecord, type Decision } from "../confirm-card";
import { useBusy, useGone, useRecords, useStore } from "../confirm-card/Ledger";
import { Schemas } from "../confirm-card/schemas";
import { useOver } from "../confirm-card/useOver";

/** Shows the chat's open interrupts as cards. Render it once inside `CopilotKitProvider`; it draws nothing by itself. `onDecide`: a decision was made, which goes out with the last one. */
export function Interrupts({ onDecide }: { onDecide?: () => void }) {
  const store = useStore();
  useInterrupt({
    render: ({ interrupts, resolve, cancel }) => {
      const answer = (id: string, payload: Json | null) => {
        store.hasUnsent = true;
        if (payload) store.given.set(id, payload);
        onDecide?.();
        void (payload ? resolve(payload, id) : cancel(id));
      };
      return <Cards key={interrupts.map(({ id }) => id).join()} interrupts={interrupts} onAnswer={answer} />;
    },
  });
  return null;
}

interface Props {
  interrupts: Interrupt[];
  /** `payload`: null declines a question. */
  onAnswer: (id: string, payload: Json | null) => void;
}

/** All of them at once; the chat sends the answers when the last one is there, so what is decided stays visible. */
function Cards({ interrupts, onAnswer }: Props) {
  const [decisions, setDecisions] = useState<Record<string, Decision>>({});
  const store = useStore();
  const isGone = useGone();
  const closed = useClosed(interrupts);
  const asks = useAsks(interrupts);
  const open = asks.filter(({ id }) => !decisions[id] && !closed[id]);
  useAskedAgain(() => {
    setDecisions({});
    store.askedAgain();
  });
  useRest(asks, decisions, closed, onAnswer);
  const { length: count } = together(open, serverNow());
  const decide = (ask: Ask, decision: Decision) => {
    setDecisions((before) => ({ ...before, [ask.id]: decision }));
    if (ask.callId) store.decided(ask.callId, decision);
    onAnswer(ask.id, toPayload(ask, decision));
  };
  if (asks.every(({ id }) => closed[id])) return null; // the chat's chips say it
  const all = { count, approve: () => open.forEach((ask) => decide(ask, { approved: true })) };
  return (
    <div className="gate-stack">
      {asks.map((ask) => {
        const record = closed[ask.id];
        if (record) return <RecordLine key={ask.id} record={record} mine={decisions[ask.id]} agent={ask.agent} />;
        if (isGone) return <GoneLine key={ask.id} />;
        return <Card key={ask.id} ask={ask} sent={decisions[ask.id]} onDecide={(made) => decide(ask, made)} onLeave={() => store.leave(ask.key)} all={count > 0 && ask === open[0] ? all : undefined} />;
      })}
      {asks.length > 1 && open.length > 0 && <p className="gate-quiet" role="status">{asks.length - open.length} of {asks.length} decided; the answers go out together.</p>}
    </div>
  );
}

function useAsks(interrupts: Interrupt[]): Ask[] {
  const schemas = useContext(Schemas);
  return interrupts.map((interrupt) => fromInterrupt(interrupt, { schema: schemas[String((interrupt.metadata as Json | undefined)?.tool)] }));
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
function useRest(asks: Ask[], decisions: Record<string, Decision>, closed: Record<string, CallRecord | undefined>, onAnswer: Props["onAnswer"]) {
  const { agent } = useAgent({ updates: [] });
  const over = useOver(asks.map(({ expiresAt }) => expiresAt));
  const rest = asks.filter(({ id }) => !decisions[id]);
  const isUnanswered = rest.length === asks.length;
  const isBusy = useBusy() && !isUnanswered;
  const isOver = rest.length > 0 && !isBusy && asks.every(({ id }, at) => decisions[id] || closed[id] || over[at]);
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
