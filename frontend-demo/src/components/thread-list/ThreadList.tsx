import { useState } from "react";
import { Icon } from "../confirm-card/Icon";
import type { ThreadHead } from "./useThreadList";
import "./thread-list.css";

interface Props {
  threads: ThreadHead[];
  current: string;
  onOpen: (id: string) => void;
  onRemove: (id: string) => void;
}

const DAY = 86_400_000; // ms

/** Threads by day, with a mark on those in which an approval waits. */
export function ThreadList({ threads, current, onOpen, onRemove }: Props) {
  return (
    <div className="threads" data-testid="threads">
      {byDay(threads, Date.now()).map(([day, members]) => (
        <section key={day} aria-label={day}>
          <h2>{day}</h2>
          <ul>
            {members.map((thread) => (
              <li key={thread.id}>
                <button type="button" className="thread" aria-current={thread.id === current ? "page" : undefined} onClick={() => onOpen(thread.id)}>
                  {thread.pending > 0 && <span className="thread-mark"><span className="gate-hidden">Waits for you: </span></span>}
                  {thread.title ?? "New chat"}
                </button>
                <Remove title={thread.title ?? "New chat"} onRemove={() => onRemove(thread.id)} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** Deleting can't be taken back, so it takes two clicks. */
function Remove({ title, onRemove }: { title: string; onRemove: () => void }) {
  const [isSure, setSure] = useState(false);
  const back = () => setSure(false);
  return (
    <button
      type="button"
      className="thread-remove"
      data-sure={isSure}
      aria-label={isSure ? `Really delete “${title}”` : `Delete “${title}”`}
      title="Delete"
      onBlur={back}
      onMouseLeave={back}
      onKeyDown={(event) => event.key === "Escape" && back()}
      onClick={isSure ? onRemove : () => setSure(true)}
    >
      {isSure ? "Delete?" : <Icon name="cross" />}
    </button>
  );
}

function byDay(threads: ThreadHead[], now: number): [string, ThreadHead[]][] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const days: Record<string, ThreadHead[]> = { Today: [], Yesterday: [], Earlier: [] };
  for (const thread of threads) {
    const at = Date.parse(thread.updated_at);
    days[at >= midnight ? "Today" : at >= midnight - DAY ? "Yesterday" : "Earlier"]?.push(thread);
  }
  return Object.entries(days).filter(([, members]) => members.length > 0);
}
