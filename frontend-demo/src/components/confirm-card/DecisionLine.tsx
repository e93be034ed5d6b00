import type { Ask, Decision } from "./ApprovalCard";
import { Icon } from "./Icon";
import { humanize, shorten, showValue, summary } from "./values";
import "./confirm-card.css";

/** What was decided, in one line: `You approved refund · 1003 · 20 · Amount 20 → 15`. */
export function DecisionLine({ ask, decision }: { ask: Ask; decision: Decision }) {
  return (
    <p className="gate-decision" data-testid="gate-decision" data-approved={decision.approved}>
      <Icon name={decision.approved ? "check" : "cross"} />
      <span>{text(ask, decision)}</span>
    </p>
  );
}

const LONGEST = 60; // characters of a value

function text(ask: Ask, { approved, reason, edits }: Decision): string {
  const call = [humanize(ask.tool).toLowerCase(), summary(ask.arguments, LONGEST)].filter(Boolean).join(" · ");
  if (!approved) return reason ? `You rejected ${call} · “${reason}”` : `You rejected ${call}`;
  const changed = Object.keys(edits ?? {}).filter((name) => JSON.stringify(edits?.[name]) !== JSON.stringify(ask.arguments[name]));
  return [`You approved ${call}`, ...changed.map((name) => change(name, ask.arguments[name], edits?.[name]))].join(" · ");
}

function change(name: string, ...values: [unknown, unknown]): string {
  if (values.some((value) => typeof value === "object" && value !== null)) return `${humanize(name)} changed`;
  return `${humanize(name)} ${values.map((value) => shorten(showValue(value ?? "–"), LONGEST)).join(" → ")}`;
}
