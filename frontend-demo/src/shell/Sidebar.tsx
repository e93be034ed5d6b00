import { useEffect, useRef } from "react";
import { Icon } from "../components/confirm-card/Icon";
import { ThreadList, type useThreadList } from "../components/thread-list";
import type { Choice } from "../connection";
import { Choices } from "./Choices";

interface Props {
  list: ReturnType<typeof useThreadList>;
  choice: Choice;
  current: string;
  isOpen: boolean;
  onClose: () => void;
  onOpen: (id: string) => void;
  onNew: () => void;
}

/** The chats; on narrow screens a drawer. */
export function Sidebar({ list, choice, current, isOpen, onClose, onOpen, onNew }: Props) {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen) first.current?.focus();
  }, [isOpen]);
  const remove = async (id: string) => {
    await list.remove(id);
    if (id === current) onNew();
  };
  return (
    <>
      <nav id="sidebar" className="sidebar" data-open={isOpen} aria-label="Chats" onKeyDown={(event) => event.key === "Escape" && onClose()}>
        <p className="brand"><img src="./favicon.svg" alt="" width="24" height="24" />agui-gate</p>
        <button ref={first} className="new-chat" type="button" onClick={onNew}><Icon name="plus" />New chat</button>
        <ThreadList threads={list.threads} current={current} onOpen={onOpen} onRemove={(id) => void remove(id)} />
        <div className="choices"><Choices choice={choice} /></div>
        <p className="which">This page is made with CopilotKit.<br /><a href="../">The built-in page</a></p>
      </nav>
      {isOpen && <div className="scrim" onClick={onClose} />}
    </>
  );
}
