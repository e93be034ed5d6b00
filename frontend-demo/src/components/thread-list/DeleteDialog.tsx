import { useState } from "react";
import { Dialog } from "../confirm-card/Dialog";

interface Props {
  title: string;
  onDelete: () => Promise<string | null>;
  onClose: () => void;
}

/** Asks before a thread is deleted on the server, and says why if that can't be done now. */
export function DeleteDialog({ title, onDelete, onClose }: Props) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const remove = async () => {
    setBusy(true);
    const refused = await onDelete();
    setBusy(false);
    setProblem(refused);
    if (refused === null) onClose();
  };
  return (
    <Dialog
      title="Delete this chat?"
      confirm={isBusy ? "Deleting…" : "Delete"}
      isDanger
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>“{title}” is deleted on the server, for good. What was done in it is not undone.</p>
      {problem && <p className="gate-refused" role="alert">{problem}</p>}
    </Dialog>
  );
}
