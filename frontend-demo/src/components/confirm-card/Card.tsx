import { earlierIn } from "agui-gate-components/core/earlier.js";
import { withPeople } from "agui-gate-components/core/people.js";
import type { ReactNode } from "react";
import type { Ask, Decision } from "./elements";
import { useAllRecords } from "./Ledger";
import "./confirm-card.css";
import "./elements";

interface Props {
  ask: Ask;
  /** What was answered, as long as the server hasn't said what came of it. */
  sent?: Decision | null;
  onDecide?: (decision: Decision) => void;
  /** It was taken away while the person was about to answer it. */
  onLeave?: () => void;
  /** Where several may be approved together: how many, and what does it. */
  all?: { count: number; approve: () => void };
}

/** One gated call: what would run, and the decision. */
export function Card({ ask, sent = null, onDecide, onLeave, all }: Props) {
  const records = useAllRecords();
  const known = earlierIn(ask, records);
  const told = ask.earlier ?? [];
  const earlier = known.length < told.length ? told : known.map((call) => ({ ...call, replaced: call.replaced || told.some(({ replaced, at }) => replaced && at === call.at) })); // each may be the older one
  return (
    <agui-confirm-card
      className="gate-card"
      data-testid={sent ? "gate-decision" : "gate-card"}
      data-state={sent ? "answered" : undefined}
      data-tool={ask.tool}
      ask={{ ...withPeople(ask, records.find(({ call_id }) => call_id === ask.callId)), earlier }}
      sent={sent}
      onagui-decide={({ detail }) => onDecide?.(detail.decision)}
      onagui-leave={onLeave}
    >
      {all && <AllButton {...all} />}
    </agui-confirm-card>
  );
}

function AllButton({ count, approve }: NonNullable<Props["all"]>): ReactNode {
  return <button slot="actions" className="gate-button" type="button" onClick={({ detail }) => detail < 2 && approve()}>Approve all {count}</button>;
}
