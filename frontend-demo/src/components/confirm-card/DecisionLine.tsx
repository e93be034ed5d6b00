import type { Ask, Decision } from "./ApprovalCard";
import { Icon } from "./Icon";
import { humanize, showValue, summary } from "./values";
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

function text(ask: Ask, { approved, reason, edits }: Decision): string {
  const call = `${humanize(ask.tool).toLowerCase()} · ${summary(ask.arguments)}`;
  if (!approved) return reason ? `You rejected ${call} · “${reason}”` : `You rejected ${call}`;
  const changed = Object.entries(edits ?? {}).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(ask.arguments[name]));
  const edited = changed.map(([name, value]) => `${humanize(name)} ${showValue(ask.arguments[name] ?? "–")} → ${showValue(value)}`);
  return [`You approved ${call}`, ...edited].join(" · ");
}
