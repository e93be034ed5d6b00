import { ThreadRow } from "./ThreadRow";
import type { ThreadHead } from "./useThreadList";
import "./thread-list.css";

interface Props {
  threads: ThreadHead[];
  current: string;
  /** Whom chats wait for, by their ids, where that isn't who reads this. */
  waits?: Record<string, string>;
  onOpen: (id: string) => void;
  /** Deletes it on the server; asked before. Returns why that didn't work, or null. */
  onDelete: (id: string) => Promise<string | null>;
  onRename: (id: string, title: string) => Promise<string | null>;
}

const DAY = 86_400_000; // ms

/** Threads by day, with their times, what can be done with them, and a mark on those in which an approval waits. */
export function ThreadList({ threads, current, waits = {}, ...actions }: Props) {
  return (
    <div className="threads" data-testid="threads">
      {byDay(apart(threads), Date.now()).map(([day, members]) => (
        <section key={day} aria-label={day}>
          <h2>{day}</h2>
          <ul>
            {members.map((thread) => <ThreadRow key={thread.id} thread={thread} isCurrent={thread.id === current} waits={waits[thread.id]} {...actions} />)}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** Chats of the same title are numbered, the oldest first; `threads` are the latest first. */
function apart(threads: ThreadHead[]): ThreadHead[] {
  const seen = new Map<string | null, number>();
  const numbered = threads.toReversed().map((thread) => {
    const number = (seen.get(thread.title) ?? 0) + 1;
    seen.set(thread.title, number);
    return number > 1 ? { ...thread, number } : thread;
  });
  return numbered.reverse();
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
