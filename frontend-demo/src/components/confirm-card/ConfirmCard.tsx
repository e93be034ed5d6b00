import type { Message } from "@ag-ui/client";
import { useAgent, useCopilotKit, useHumanInTheLoop, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { fromCard, fromCardAnswer, toCardAnswer, together } from "agui-gate-components/core/asks.js";
import { isClosed } from "agui-gate-components/core/records.js";
import { serverNow } from "agui-gate-components/core/servertime.js";
import type { Json } from "agui-gate-components/core/types.js";
import { unitsFor } from "agui-gate-components/core/units.js";
import { humanize } from "agui-gate-components/core/values.js";
import { useContext, useEffect, useLayoutEffect, useState, useSyncExternalStore } from "react";
import { z } from "zod";
import { Arguments } from "./Arguments";
import { Card } from "./Card";
import { GoneLine, RecordLine } from "./DecisionLine";
import type { Ask, CallRecord, Decision } from "./elements";
import { useAnswer, useBusy, useGone, useRecord, useStore, useUnsent } from "./Ledger";
import { CARD, openCards } from "./open";
import { Schemas } from "./schemas";
import { Shown } from "./Shown";
import { Queue } from "./together";

const parameters = z.object({
  function_name: z.string(),
  function_call_id: z.string(),
  function_arguments: z.record(z.string(), z.unknown()),
  steps: z.array(z.object({ description: z.string(), status: z.string() })),
  editable: z.array(z.string()).optional(),
  function_parameters: z.record(z.string(), z.unknown()).optional(), // the tool's JSON Schema, where something may be edited
  expires_at: z.string().optional(),
  agent: z.string().optional(), // who asks, where that is not the entry agent
  refused: z.string().optional(),
  already_ran: z.array(z.record(z.string(), z.unknown())).optional(),
});

type CardArguments = z.infer<typeof parameters>;

/** Registers the confirm card with the chat. Render it once inside `CopilotKitProvider`; it draws nothing by itself. `onDecide`: a decision was made, which goes out with the last one. */
export function ConfirmCard({ onDecide }: { onDecide?: () => void }) {
  const [queue] = useState(() => new Queue(onDecide));
  useHumanInTheLoop<CardArguments>({
    name: CARD,
    description: "Show a confirm card for a call and wait for the person's decision.",
    parameters,
    render: ({ toolCallId, args, status, respond, result }) => <Confirm id={toolCallId} card={args} live={status === "executing"} respond={respond} result={result} queue={queue} />,
  });
  useStops(queue);
  return null;
}

interface Props {
  /** The card's own call. */
  id: string;
  card: Partial<CardArguments>; // partial while it streams
  live: boolean;
  respond?: (answer: unknown) => Promise<void>;
  result?: unknown;
  queue: Queue;
}

function Confirm({ id, card, live, respond, result, queue }: Props) {
  const { agent } = useAgent({ updates: [] });
  const store = useStore();
  const [decided, setDecided] = useState<Decision | null>(null);
  const answered = useAnswer(card.function_call_id);
  const isGone = useGone();
  const isUnsent = useUnsent(card.function_call_id);
  const record = useRecord(card.function_call_id);
  const reopened = useReopened(id, record?.state === "pending");
  const schemas = useContext(Schemas);
  const callId = card.function_call_id;
  const ask = fromCard(card, id, schemas[card.function_name ?? ""]);
  if (!ask || !callId) return null;
  const mine = decided ?? fromCardAnswer(result) ?? undefined;
  const isDropped = result !== undefined && !mine; // without an answer: the call's chip says what became of it, or it is asked again
  if (record?.decision || isUnsent ? !isNewest(id, callId, agent.messages) : isDropped) return null;
  if (record && isClosed(record)) return <Closed record={record} agent={ask.agent} mine={answered} respond={live && !decided ? respond : undefined} />;
  if (isGone) return <GoneLine />;
  if (!mine && !(live && respond) && !reopened.isOpen) return <Waiting ask={ask} id={callId} queue={queue} />;
  const decide = (made: Decision) => {
    setDecided(made);
    store.decided(callId, made);
    queue.decided();
    void (respond && queue.isAwaited ? respond : reopened.respond)(toCardAnswer(ask, made));
  };
  return <Open ask={ask} id={callId} queue={queue} mine={mine} onDecide={decide} onLeave={() => store.leave(callId)} />;
}

/**
 * Stop, pressed as a card appears, comes too late for its call: that waits on in the ledger. CopilotKit would take its
 * own error down as the card's answer, and report it; what ends without an error, once it was stopped, it drops.
 */
function useStops(queue: Queue) {
  const { copilotkit } = useCopilotKit();
  useLayoutEffect(() => {
    const tool = copilotkit.getTool({ toolName: CARD });
    const wait = tool?.handler;
    if (!tool || !wait) return;
    tool.handler = async (args, context) => {
      queue.isAwaited = true;
      try {
        return await wait(args, context);
      } catch (error) {
        if (!context.signal?.aborted) throw error;
      } finally {
        queue.isAwaited = false;
      }
    };
  }, [copilotkit, queue]);
}

/** Whether it is the turn of a card for which CopilotKit doesn't wait any more, and what answers it. */
function useReopened(id: string, isPending: boolean) {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged] });
  const { copilotkit, executingToolCallIds } = useCopilotKit();
  const isIdle = !agent.isRunning && executingToolCallIds.size === 0;
  const respond = async (answer: Json) => {
    agent.setMessages([...agent.messages, { id: `${id}-answer`, role: "tool", toolCallId: id, content: JSON.stringify(answer) }]);
    if (openCards(agent.messages).length === 0) await copilotkit.runAgent({ agent });
  };
  return { isOpen: isIdle && isPending && openCards(agent.messages)[0] === id, respond };
}

/** Whether this card is the last one that asked about the call: the one that says what became of it. */
function isNewest(id: string, callId: string, messages: readonly Message[]): boolean {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const cards = calls.filter(({ function: { name, arguments: card } }) => name === CARD && card.includes(JSON.stringify(callId)));
  return cards.length === 0 || cards.at(-1)?.id === id;
}

/**
 * What the ledger says. If it was decided elsewhere while other answers wait here to go out with this one, the chat gets
 * the ledger's word as its answer once that decision is carried out; else the conversation is read again (`useLedger`),
 * which closes the card.
 */
function Closed({ record, agent, mine, respond }: { record: CallRecord; agent?: string | null; mine?: Decision; respond?: Props["respond"] }) {
  const store = useStore();
  const isBusy = useBusy();
  useEffect(() => {
    if (!respond || !store.hasUnsent || isBusy) return;
    const timer = setTimeout(() => void respond({ accepted: record.decision?.approved ?? false }), SOON);
    return () => clearTimeout(timer);
  }, [respond, record, store, isBusy]);
  return <RecordLine record={record} mine={mine} agent={agent} />;
}

interface PartProps {
  ask: Ask;
  id: string;
  queue: Queue;
}

/** CopilotKit opens one card after the other. The next ones show all there is to see, for who decides on all at once. */
function Waiting({ ask, id, queue }: PartProps) {
  const approved = useSyncExternalStore(queue.subscribe, queue.approved).has(id);
  const shown = JSON.stringify(ask);
  useEffect(() => queue.enter(JSON.parse(shown) as Ask, id), [queue, shown, id]);
  if (approved) return <Card ask={ask} sent={APPROVED} />;
  return (
    <div className="gate-next" data-testid="gate-next">
      <p>Next: <Shown text={ask.message ?? humanize(ask.tool)} />{ask.agent && <> · <Shown text={humanize(ask.agent)} /> asks</>}</p>
      <Arguments values={ask.arguments} unit={unitsFor(ask.arguments, ask)} schema={ask.schema} />
    </div>
  );
}

const APPROVED: Decision = { approved: true };
const SOON = 50; // ms

interface OpenProps extends PartProps {
  mine?: Decision;
  onDecide: (decision: Decision) => void;
  onLeave: () => void;
}

function Open({ ask, id, queue, mine, onDecide, onLeave }: OpenProps) {
  const waiting = useSyncExternalStore(queue.subscribe, queue.waiting);
  const [isApproved] = useState(() => !mine && queue.approved().has(id));
  useEffect(() => {
    if (!isApproved) return;
    // The chat draws a card as open a moment before it takes answers.
    const timer = setTimeout(() => onDecide(APPROVED), SOON);
    return () => clearTimeout(timer);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [isApproved]);
  const { length: count } = together([ask, ...waiting.values()], serverNow());
  const approve = () => {
    queue.approveAll();
    onDecide(APPROVED);
  };
  return <Card ask={ask} sent={mine ?? (isApproved ? APPROVED : null)} onDecide={onDecide} onLeave={onLeave} all={count > 0 ? { count, approve } : undefined} />;
}
