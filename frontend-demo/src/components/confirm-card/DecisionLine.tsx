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
  /** It is known that this came too late. */
  late?: boolean;
  /** An answer was about to be given in a place that the ledger doesn't know of. */
  isUnsent?: boolean;
  /** Who asked, where that is not plain. */
  agent?: string | null;
}

/** What the server says became of a call. */
export function RecordLine({ record, mine, late = isLate(record, mine), isUnsent = false, agent }: Props) {
  const unsent = useUnsent(record.call_id) || isUnsent;
  return <agui-decision-line className="gate-decision" data-testid="gate-decision" data-state={record.state} data-late={late || unsent} call record={record} late={late} unsent={unsent} left={useLeft(record)} agent={agent} />;
}

/** For a question of a chat that isn't there any more. */
export const GoneLine = () => (
  <p className="gate-decision" data-testid="gate-decision" data-state="cancelled"><Icon name="bin" />Not decided, as this chat was deleted</p>
);
