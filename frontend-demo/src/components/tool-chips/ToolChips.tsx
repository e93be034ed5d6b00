import { useAgent, useRenderTool, UseAgentUpdate } from "@copilotkit/react-core/v2";
import type { ComponentType } from "react";
import { Arguments } from "../confirm-card/Arguments";
import { isLate, recordText } from "agui-gate-components/core/records.js";
import { peopleOf, waitsForText } from "agui-gate-components/core/people.js";
import { unitsFor } from "agui-gate-components/core/units.js";
import { Icon } from "../confirm-card/Icon";
import { CARD } from "../confirm-card/open";
import { useAnswer, useGone, useLeft, useLost, useRecord, useUnsent } from "../confirm-card/Ledger";
import type { CallRecord } from "../confirm-card";
import { Shown } from "../confirm-card/Shown";
import { useOver } from "../confirm-card/useOver";
import { humanize, summary } from "agui-gate-components/core/values.js";
import { parseJson, parseObject } from "agui-gate-components/core/json.js";
import type { Json } from "agui-gate-components/core/types.js";
import { LOOKS, recordStatus, resultStatus, type Status } from "./status";
import { cardsIn, RUN, useOpenCalls } from "./useOpenCalls";
import "../confirm-card/elements";
import "./tool-chips.css";

/** Shows every tool call of the chat as a line that opens, but for cards of a page that asked in another style. Render it once inside `CopilotKitProvider`; it draws nothing by itself. `Chip`: what draws a call. */
export function ToolChips({ Chip = ToolChip }: { Chip?: ComponentType<Call> }) {
  const open = useOpenCalls();
  const carded = useCarded();
  useRenderTool({ name: "*", render: (call: Call) => (call.name === CARD ? <></> : <Chip {...call} {...meanwhile(open, call.toolCallId)} hasCard={carded.includes(call.toolCallId ?? "-")} />) }, [open, carded, Chip]);
  return null;
}

export interface Call {
  name: string;
  toolCallId?: string;
  parameters?: unknown;
  status: "inProgress" | "executing" | "complete";
  result?: unknown;
  /** What it is as long as it has no result. */
  meanwhile?: Status;
  /** Until when it waits, ISO 8601. */
  expiresAt?: string;
  /** A card below says what was decided. */
  hasCard?: boolean;
}

/** Name, live status and arguments in one line; opened, everything there is. Of a gated call, what the server's ledger says. */
export function ToolChip({ name, toolCallId, parameters, status, result, meanwhile = "running", expiresAt, hasCard = false }: Call) {
  const record = useRecord(toolCallId);
  const [isExpired] = useOver([meanwhile === "waiting" ? expiresAt : null]);
  const text = typeof result === "string" ? result : result === undefined ? undefined : JSON.stringify(result);
  const values = record?.effective_arguments ?? ((parameters && typeof parameters === "object" ? parameters : {}) as Json);
  const isOpen = record?.state === "pending" && meanwhile !== "stopped"; // whatever the client takes for its result
  const fromChat: Status = !isOpen && (text !== undefined || status === "complete") ? resultStatus(text ?? "") : isExpired ? "expired" : meanwhile;
  const isGone = useGone();
  const isLeft = useLeft(record);
  const how = isLeft ? "waiting" : (recordStatus(record?.state) ?? (isGone && fromChat === "waiting" ? "stopped" : fromChat));
  const { label, icon } = LOOKS[how];
  const people = peopleOf(record);
  const isOthers = how === "waiting" && !isLeft && people.you?.may.includes("approve") === false;
  const unit = record && unitsFor(record.arguments, record);
  return (
    <details className="chip" data-testid="tool-chip" data-tool={name} data-status={how}>
      <summary>
        <span className="chip-symbol">{icon ? <Icon name={icon} /> : <span className="chip-spinner" />}</span>
        <span className="chip-name" title={name}><Shown text={humanize(name)} /></span>
        <span className="chip-preview"><Shown text={summary(values, unit)} /></span>
        <span className="chip-status">{isOthers ? waitsForText(people) : label}</span>
        <Icon name="chevron" />
        {!hasCard && <Decided callId={toolCallId} />}
        {how === "waiting" && !isLeft && <Lost record={record} />}
      </summary>
      <div className="chip-body">
        {hasCard && <Decided callId={toolCallId} />}
        <h3>Arguments</h3>
        <Arguments values={values} unit={unit} tool={name} />
        <Result text={record?.result ?? (record ? undefined : text)} />
      </div>
    </details>
  );
}

/** Who decided, and what was changed before it ran; an answer of one's own that came too late. */
export function Decided({ callId }: { callId: string | undefined }) {
  const record = useRecord(callId);
  const mine = useAnswer(record?.call_id);
  const unsent = useUnsent(record?.call_id);
  const isLeft = useLeft(record);
  if (!record || !recordText(record)) return null;
  const late = isLate(record, mine);
  return <agui-decision-line className="chip-decided" data-testid="chip-decided" data-late={unsent || late} record={record} late={late} unsent={unsent} left={isLeft} />;
}

/** What was answered and never arrived, for as long as nobody sends it again. */
function Lost({ record }: { record: CallRecord | undefined }) {
  const answer = useLost(record?.id);
  return answer ? <span className="chip-decided" data-testid="chip-lost">{`Your answer, to ${answer.approved ? "approve" : "reject"} it, has not arrived`}</span> : null;
}

function Result({ text }: { text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <>
      <h3>Result</h3>
      <pre tabIndex={0}>{text === "" ? "(empty)" : <Shown text={pretty(text)} />}</pre>
    </>
  );
}

/** The calls that have a card, in one string. */
function useCarded(): string {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged] });
  return cardsIn(agent.messages).map((card) => card.function_call_id).join(" ");
}

/** Between runs nothing runs on the server: what doesn't wait was stopped with its run. */
function meanwhile(open: string, callId: string | undefined): Pick<Call, "meanwhile" | "expiresAt"> {
  if (open === RUN || !callId) return { meanwhile: "running" };
  const expiresAt = parseObject(open)?.[callId];
  return typeof expiresAt === "string" ? { meanwhile: "waiting", expiresAt } : { meanwhile: "stopped" };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(parseJson(text), null, 2);
  } catch {
    return text;
  }
}
