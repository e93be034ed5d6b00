import { useAgent, useRenderTool, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { Arguments } from "../confirm-card/Arguments";
import { Icon } from "../confirm-card/Icon";
import { useCountdown } from "../confirm-card/useCountdown";
import { parseObject, summary, type Json } from "../confirm-card/values";
import { LOOKS, resultStatus, type Status } from "./status";
import "./tool-chips.css";

/** Shows every tool call of the chat as a line that opens. Render it once inside `CopilotKitProvider`; it draws nothing by itself. */
export function ToolChips() {
  const open = useOpenCalls();
  useRenderTool({ name: "*", render: (call: Call) => <ToolChip {...call} {...meanwhile(open, call.toolCallId)} /> }, [open]);
  return null;
}

interface Call {
  name: string;
  toolCallId?: string;
  parameters?: unknown;
  status: "inProgress" | "executing" | "complete";
  result?: unknown;
  /** What it is as long as it has no result. */
  meanwhile?: Status;
  /** Until when it waits, ISO 8601. */
  expiresAt?: string;
}

/** Name, live status and arguments in one line; opened, everything there is. */
export function ToolChip({ name, parameters, status, result, meanwhile = "running", expiresAt }: Call) {
  const isExpired = useCountdown(meanwhile === "waiting" ? expiresAt : undefined) === 0;
  const text = typeof result === "string" ? result : result === undefined ? undefined : JSON.stringify(result);
  const values = (parameters && typeof parameters === "object" ? parameters : {}) as Json;
  const how: Status = text !== undefined || status === "complete" ? resultStatus(text ?? "") : isExpired ? "expired" : meanwhile;
  const { label, icon } = LOOKS[how];
  return (
    <details className="chip" data-testid="tool-chip" data-tool={name} data-status={how}>
      <summary>
        <span className="chip-symbol">{icon ? <Icon name={icon} /> : <span className="chip-spinner" />}</span>
        <code>{name}</code>
        <span className="chip-preview">{summary(values)}</span>
        <span className="chip-status">{label}</span>
        <Icon name="chevron" />
      </summary>
      <div className="chip-body">
        <h3>Arguments</h3>
        <Arguments values={values} />
        {text !== undefined && <h3>Result</h3>}
        {text !== undefined && <pre tabIndex={0}>{pretty(text) || "(empty)"}</pre>}
      </div>
    </details>
  );
}

const RUN = "run";

/** `run`, or between runs until when which call waits for a person, as JSON: the string changes only when they do. */
function useOpenCalls(): string {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged] });
  if (agent.isRunning) return RUN;
  const calls = agent.messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const cards = calls.filter(({ function: { name } }) => name === "confirm_changes").map(({ function: card }) => parseObject(card.arguments));
  const carded = cards.map((card) => [card?.function_call_id, card?.expires_at ?? ""]);
  const interrupts = agent.pendingInterrupts.map(({ toolCallId, metadata }) => [toolCallId, metadata?.expires_at ?? ""]);
  return JSON.stringify(Object.fromEntries([...carded, ...interrupts]));
}

/** Between runs nothing runs on the server: what doesn't wait was stopped with its run. */
function meanwhile(open: string, callId: string | undefined): Pick<Call, "meanwhile" | "expiresAt"> {
  if (open === RUN || !callId) return { meanwhile: "running" };
  const expiresAt = parseObject(open)?.[callId];
  return typeof expiresAt === "string" ? { meanwhile: "waiting", expiresAt } : { meanwhile: "stopped" };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
