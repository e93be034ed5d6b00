import { callText, outcome } from "agui-gate-components/core/records.js";
import { unitsFor } from "agui-gate-components/core/units.js";
import type { CallRecord } from "../components/confirm-card";
import { Dialog } from "../components/confirm-card/Dialog";
import { Shown } from "../components/confirm-card/Shown";

/** What going back in the conversation would leave behind, and what to do then. */
export interface Undoing {
  /** What ran in the part that goes. */
  records: CallRecord[];
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before an answer is replaced in which something took effect: that can't be undone by asking again. */
export function GoBack({ records, onConfirm, onClose }: Undoing) {
  return (
    <Dialog title="Ask again?" confirm="Ask again" onConfirm={onConfirm} onClose={onClose}>
      <p>The answer is replaced.</p>
      <WhatRan records={records} />
    </Dialog>
  );
}

/** What stays done, whatever is replaced. */
export function WhatRan({ records }: { records: CallRecord[] }) {
  if (records.length === 0) return null;
  return (
    <>
      <p>{records.length === 1 ? "This already ran, and stays done:" : "These already ran, and stay done:"}</p>
      <ul>
        {records.map((record) => <li key={record.id}><Shown text={ranText(record)} /></li>)}
      </ul>
      <p>The assistant is told so.</p>
    </>
  );
}

const ranText = (record: CallRecord) => `${callText(record.tool, record.effective_arguments, unitsFor(record.arguments, record))} · ${outcome(record)}`;
