import type { Message } from "@ag-ui/client";
import { useAgent, useRenderActivityMessage, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { memo, type ReactElement } from "react";
import { Icon } from "../confirm-card/Icon";
import { useAnyUnread, useGone, useRecords } from "../confirm-card/Ledger";
import { isClosed } from "agui-gate-components/core/records.js";
import { Shown } from "../confirm-card/Shown";
import { humanize } from "agui-gate-components/core/values.js";
import { LOOKS, resultStatus, type Status } from "../tool-chips/status";
import { Decided, type Call } from "../tool-chips/ToolChips";
import { RUN, useOpenCalls, waitingIn } from "../tool-chips/useOpenCalls";
import { around, type Team } from "./team";
import { TeamMessage, TeamReasoning } from "./TeamMessage";
import { Lane, useTeam } from "./useTeam";

const WORDS: Partial<Record<Status, string>> = { running: "Working", waiting: "Waiting for you" };

/** A task that one agent handed to another: who works on it, how it stands, and all that is said and done in it. `call`: the one that delegated it, where it is shown. */
export function Delegation({ id, call }: { id: string; call?: Call }) {
  const task = useTeam((team) => team.tasks.get(id));
  const status = useStatus(id, call?.result);
  if (!task) return null;
  const { icon, label } = LOOKS[status];
  const about = (call?.parameters as { task?: unknown } | undefined)?.task;
  return (
    <details className="delegation" data-testid="delegation" data-agent={task.agent} data-status={status} open>
      <summary>
        <span className="chip-symbol">{icon ? <Icon name={icon} /> : <span className="chip-spinner" />}</span>
        <span className="delegation-agent"><Shown text={humanize(task.agent)} /></span>
        <span className="chip-preview">{typeof about === "string" && <Shown text={about} />}</span>
        <span className="chip-status">{WORDS[status] ?? label}</span>
        <Icon name="chevron" />
      </summary>
      <div className="delegation-body">
        {call && !call.hasCard && <Decided callId={call.toolCallId} />}
        <Lane value={id}><Inside ids={task.messages} /></Lane>
        {status === "error" && <p className="delegation-error"><Shown text={errorIn(call?.result)} /></p>}
      </div>
    </details>
  );
}

/** What is said and done inside, oldest first. */
function Inside({ ids }: { ids: readonly string[] }) {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnMessagesChanged, UseAgentUpdate.OnRunStatusChanged] });
  const byId = new Map(agent.messages.map((message) => [message.id, message]));
  const last = agent.messages.at(-1)?.id;
  return ids.map((id) => {
    const message = byId.get(id);
    if (!message) return null;
    const isRunning = agent.isRunning && id === last;
    return <Row key={id} message={message} messages={agent.messages} isRunning={isRunning} sign={signOf(message, agent.messages)} />;
  });
}

interface RowProps {
  message: Message;
  messages: readonly Message[];
  isRunning: boolean;
  /** All that is shown of it. */
  sign: string;
}

const Row = memo(
  function Row({ message, messages, isRunning }: RowProps): ReactElement | null {
    const { renderActivityMessage } = useRenderActivityMessage();
    const all = [...messages];
    if (message.role === "assistant") return <TeamMessage message={message} messages={all} isRunning={isRunning} />;
    if (message.role === "reasoning") return <TeamReasoning message={message} messages={all} isRunning={isRunning} />;
    return message.role === "activity" ? renderActivityMessage(message) : null;
  },
  (before, now) => before.sign === now.sign && before.isRunning === now.isRunning,
);

/** What there is of a message and of its calls' results. */
function signOf(message: Message, messages: readonly Message[]): string {
  const ids = new Set(message.role === "assistant" ? message.toolCalls?.map(({ id }) => id) : []);
  const results = ids.size > 0 ? messages.filter((other) => other.role === "tool" && ids.has(other.toolCallId)) : [];
  return JSON.stringify([message, results, messages.at(-1)?.id === message.id]);
}

/** By its result; else whether it is worked on, waits for a person (somewhere inside, or to have it go on), or was stopped with its run. */
function useStatus(id: string, result: unknown): Status {
  const open = useOpenCalls();
  const isGone = useGone();
  const isUnread = useAnyUnread();
  const records = useRecords();
  const waits = useTeam((team) => !isGone && open !== RUN && waitingIn(open).some((callId) => !isClosed(records.get(callId)) && isInside(team, callId, id)));
  if (typeof result === "string") return resultStatus(result);
  if (open === RUN) return "running";
  return waits || isUnread ? "waiting" : "stopped";
}

/** A call that isn't shown may be inside any of them. */
const isInside = (team: Team, callId: string, task: string): boolean => callId === task || !team.lanes.has(callId) || around(team, callId).includes(task);

function errorIn(result: unknown): string {
  try {
    const { error, message } = JSON.parse(String(result)) as { error?: unknown; message?: unknown };
    return String(error ?? message ?? result);
  } catch {
    return String(result);
  }
}
