import { useEffect, useId, useRef, type ReactNode } from "react";
import "./confirm-card.css";
import "./dialog.css";

interface Props {
  title: string;
  /** What the button that does it says. */
  confirm: string;
  isDanger?: boolean;
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Asks before something that can't be taken back. Escape is no; so is where the focus begins. */
export function Dialog({ title, confirm, isDanger = false, onConfirm, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      className="gate-dialog"
      aria-labelledby={id}
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()} // it is nobody else's key
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div className="gate-dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
        <div className="gate-actions">
          <button className="gate-button" type="button" autoFocus onClick={onClose}>Cancel</button>
          <button className={`gate-button ${isDanger ? "reject" : "primary"}`} type="button" onClick={onConfirm}>{confirm}</button>
        </div>
      </div>
    </dialog>
  );
}
