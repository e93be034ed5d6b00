import { useState } from "react";
import { Shown } from "../confirm-card/Shown";
import { DeleteDialog } from "./DeleteDialog";
import { ThreadMenu } from "./ThreadMenu";
import type { ThreadHead } from "./useThreadList";

interface Props {
  thread: ThreadHead;
  isCurrent: boolean;
  /** Whom it waits for, if not for who reads this. */
  waits?: string;
  onOpen: (id: string) => void;
  onDelete: (id: string) => Promise<string | null>;
  onRename: (id: string, title: string) => Promise<string | null>;
}

/** A thread: its title, when something last happened in it, whether it waits, and a menu. */
export function ThreadRow({ thread, isCurrent, waits = "Waiting for you", onOpen, onDelete, onRename }: Props) {
  const [mode, setMode] = useState<"view" | "rename" | "delete">("view");
  const title = thread.title ?? "New chat";
  const back = () => setMode("view");
  if (mode === "rename") return <li><Rename title={title} onSave={(text) => onRename(thread.id, text)} onDone={back} /></li>;
  return (
    <li>
      <button type="button" className="thread" aria-current={isCurrent ? "page" : undefined} onClick={() => onOpen(thread.id)}>
        <span className="thread-title"><Shown text={thread.number ? `${title} (${thread.number})` : title} /></span>
        <span className="thread-facts">
          {thread.pending > 0 && <span className="thread-waits">{waits}</span>}
          <time dateTime={thread.updated_at} title={new Date(thread.updated_at).toLocaleString()}>{shortTime(thread.updated_at, Date.now())}</time>
        </span>
      </button>
      <ThreadMenu title={title} onRename={() => setMode("rename")} onDelete={() => setMode("delete")} />
      {mode === "delete" && <DeleteDialog title={title} onDelete={() => onDelete(thread.id)} onClose={back} />}
    </li>
  );
}

/** The title as a field: Enter keeps it, Escape doesn't. What the server doesn't take stays to be changed. */
function Rename({ title, onSave, onDone }: { title: string; onSave: (text: string) => Promise<string | null>; onDone: () => void }) {
  const [text, setText] = useState(title);
  const [problem, setProblem] = useState<string | null>(null);
  const save = async () => {
    const isSame = text.trim() === "" || text.trim() === title;
    const refused = isSame ? null : await onSave(text.trim());
    setProblem(refused);
    if (refused === null) onDone();
  };
  return (
    <form className="thread-rename" onSubmit={(event) => { event.preventDefault(); void save(); }}>
      <input
        type="text"
        aria-label="Title"
        autoFocus
        autoComplete="off"
        maxLength={200}
        value={text}
        aria-invalid={problem ? true : undefined}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation(); // else a drawer would close with it
          onDone();
        }}
        onBlur={() => void save()}
      />
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}

const DAY = 86_400_000; // ms

/** `14:03` for today and yesterday, `19 Nov` before, with the year where it is another one. */
function shortTime(at: string, now: number): string {
  const then = new Date(at);
  if (then.getTime() >= new Date(now).setHours(0, 0, 0, 0) - DAY) return then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  const year = then.getFullYear() === new Date(now).getFullYear() ? undefined : "numeric";
  return then.toLocaleDateString([], { day: "numeric", month: "short", year });
}
