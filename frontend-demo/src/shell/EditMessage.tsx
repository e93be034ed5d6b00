import { useState } from "react";
import { Dialog } from "../components/confirm-card/Dialog";
import type { CallRecord } from "../components/confirm-card";
import { WhatRan } from "./GoBack";

/** A message to be said in other words: the conversation goes on from there, and what came after it is replaced. */
export interface Editing {
  text: string;
  /** What ran after it. */
  records: CallRecord[];
  onSend: (text: string) => void;
  onClose: () => void;
}

export function EditMessage({ text: before, records, onSend, onClose }: Editing) {
  const [text, setText] = useState(before);
  const isNew = text.trim() !== "" && text !== before;
  return (
    <Dialog title="Edit your message" confirm="Send" onConfirm={() => (isNew ? onSend(text) : onClose())} onClose={onClose}>
      <div className="gate-field">
        <textarea aria-label="Message" autoFocus rows={3} value={text} onChange={(event) => setText(event.target.value)} />
      </div>
      <p>What came after it is replaced.</p>
      <WhatRan records={records} />
    </Dialog>
  );
}
