import { isLate } from "agui-gate-components/core/records.js";
import type { CallRecord, Decision } from "./elements";
import { Icon } from "./Icon";
import { useLeft, useUnsent } from "./Ledger";
import "./confirm-card.css";
import "./elements";

interface Props {
  record: CallRecord;
  /** What was answered here. */
  mine?: Decision;
  /** Who asked, where that is not plain. */
  agent?: string | null;
}

/** What the server says became of a call. */
export function RecordLine({ record, mine, agent }: Props) {
  const late = isLate(record, mine);
  const unsent = useUnsent(record.call_id);
  return <agui-decision-line className="gate-decision" data-testid="gate-decision" data-state={record.state} data-late={late || unsent} call record={record} late={late} unsent={unsent} left={useLeft(record)} agent={agent} />;
}

/** For a question of a chat that isn't there any more. */
export const GoneLine = () => (
  <p className="gate-decision" data-testid="gate-decision" data-state="cancelled"><Icon name="bin" />Not decided, as this chat was deleted</p>
);
