import { useEffect, useId, useRef } from "react";
import { Icon } from "../confirm-card/Icon";
import { shorten } from "agui-gate-components/core/values.js";
import { InboxItem } from "./InboxItem";
import type { useInbox } from "./useInbox";
import "./inbox.css";

interface Props {
  inbox: ReturnType<typeof useInbox>;
  /** The chat on screen. */
  current: string;
  /** What a chat is called, where that is known. */
  titleOf: (threadId: string) => string | undefined;
  /** Whether pages talk to that agent; of others it is said that they ask. */
  isEntry?: (agent: string) => boolean;
  onOpenChat: (threadId: string) => void;
}

/** A button that says how much waits, and the list behind it. */
export function Inbox({ inbox, ...props }: Props) {
  const { count, isShown, show } = inbox;
  if (count === 0 && !isShown) return null;
  return (
    <>
      <button className="inbox-button" type="button" aria-haspopup="dialog" data-testid="inbox-button" onClick={() => show(true)}>
        <Icon name="gate" />
        {heading(inbox)}
      </button>
      {isShown && <List inbox={inbox} {...props} />}
    </>
  );
}

const TITLE = 60; // characters

const heading = ({ count, hasMore }: Props["inbox"]) => (count > 0 ? `Waiting for you (${count}${hasMore ? "+" : ""})` : "Waiting for you");

/** What waits in all chats, oldest first, over the page. What was decided stays until the person closes the list. */
function List({ inbox, current, titleOf, isEntry = () => true, onOpenChat }: Props) {
  const { store, entries, count, hasMore, isAway, show } = inbox;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const close = () => dialog.current?.close(); // gives the focus back
  useEffect(() => {
    dialog.current?.showModal();
    return () => {
      if (document.activeElement === document.body) document.querySelector("main")?.focus(); // the button went, as nothing waits
    };
  }, []);
  const openChat = (threadId: string) => {
    close();
    onOpenChat(threadId);
  };
  const titles = useRef(new Map<string, string>()); // a chat that is deleted keeps its name here
  const where = (threadId: string) => {
    if (threadId === current) return "in this chat";
    const title = titleOf(threadId) ?? titles.current.get(threadId);
    if (title) titles.current.set(threadId, title);
    return title ? `in “${shorten(title, TITLE)}”` : "in another chat";
  };
  return (
    <dialog
      ref={dialog}
      className="inbox"
      aria-labelledby={id}
      onClose={() => show(false)}
      onKeyDown={(event) => event.stopPropagation()} // it is nobody else's key
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div className="inbox-page">
        <header>
          <h2 id={id}>{heading(inbox)}</h2>
          <button className="gate-button" type="button" aria-label="Close" onClick={close}><Icon name="cross" /></button>
        </header>
        {isAway && <p className="gate-refused" role="alert"><Icon name="warning" />The server can't be reached. This may be out of date.</p>}
        <ul>
          {entries.map((entry) => (
            <li key={entry.record.id}>
              <InboxItem entry={entry} store={store} startsOpen={entries.length === 1} agent={isEntry(entry.record.agent ?? "") ? undefined : (entry.record.agent ?? undefined)} where={where(entry.record.thread_id)} onOpenChat={openChat} />
            </li>
          ))}
        </ul>
        {hasMore && <p className="inbox-note">More are shown when these are decided.</p>}
        {count === 0 && !hasMore && <p className="inbox-note">{entries.length > 0 ? "Nothing else is waiting for you." : "Nothing is waiting for you."}</p>}
      </div>
    </dialog>
  );
}
