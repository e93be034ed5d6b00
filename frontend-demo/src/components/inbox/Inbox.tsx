import { isWaiting, type Inbox as InboxElement } from "agui-gate-components";
import { waitsForOthers } from "agui-gate-components/core/people.js";
import { useCallback, useEffect, useId, useRef, useState } from "react";
import "../confirm-card/elements";
import { Icon } from "../confirm-card/Icon";
import "./inbox.css";

interface Props {
  /** Where the server is, with a slash at the end. */
  server: string;
  token: string;
  /** The chat on screen. */
  current: string;
  onOpenChat: (threadId: string) => void;
  /** Something waits, or doesn't any more: what is said of it by the ids of the chats that it waits in. */
  onNews: (waits?: Record<string, string>) => void;
}

/** A button that says how much waits in all chats, and the list behind it, in which it is decided. */
export function Inbox({ server, token, current, onOpenChat, onNews }: Props) {
  const [{ count, heading }, setWaiting] = useState({ count: 0, heading: "" });
  const [isShown, setShown] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<InboxElement>(null);
  const id = useId();
  const getToken = useCallback(() => token, [token]);
  const show = () => {
    list.current?.clear(); // what was decided meanwhile
    setShown(true);
    dialog.current?.showModal();
    if (count === 1) list.current?.focus(); // it is open
  };
  const close = () => dialog.current?.close(); // gives the focus back
  const closed = () => {
    setShown(false);
    list.current?.clear();
  };
  useEffect(() => {
    if (!isShown) return;
    return () => {
      if (document.activeElement === document.body) document.querySelector("main")?.focus(); // the button went, as nothing waits
    };
  }, [isShown]);
  const told = ({ detail }: CustomEvent<{ count: number; heading: string }>) => {
    setWaiting(detail);
    onNews(waitsByChat(list.current?.ledger?.entries() ?? []));
  };
  return (
    <agui-gate base={server} send look={20} getToken={getToken} onagui-count={told} onagui-decided={() => onNews()}>
      {(count > 0 || isShown) && <button className="inbox-button" type="button" aria-haspopup="dialog" data-testid="inbox-button" title={heading} onClick={show}><Icon name="gate" /><span>{heading}</span></button>}
      <dialog
        ref={dialog}
        className="inbox"
        aria-labelledby={id}
        onClose={closed}
        onKeyDown={(event) => event.stopPropagation()} // it is nobody else's key
        onClick={(event) => event.target === dialog.current && close()}
      >
        <div className="inbox-page">
          <header>
            <h2 id={id}>{heading}</h2>
            <button className="gate-button" type="button" aria-label="Close" onClick={close}><Icon name="cross" /></button>
          </header>
          <agui-inbox ref={list} chats current={current} onagui-open-chat={({ detail }) => { close(); onOpenChat(detail.thread); }}><span slot="title" /></agui-inbox>
        </div>
      </dialog>
    </agui-gate>
  );
}

type Entries = ReturnType<NonNullable<InboxElement["ledger"]>["entries"]>;

/** Whom the calls of each chat wait for, where it isn't who reads this. */
function waitsByChat(entries: Entries): Record<string, string> {
  const waiting = entries.filter(isWaiting);
  const chats = new Set(waiting.map(({ record }) => record?.thread_id ?? ""));
  const said = [...chats].map((id) => [id, waitsForOthers(waiting.filter(({ record }) => record?.thread_id === id).map(({ ask }) => ask?.people))] as const);
  return Object.fromEntries(said.flatMap(([id, whom]) => (whom ? [[id, whom]] : [])));
}
