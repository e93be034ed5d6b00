import { useEffect, useRef } from "react";
import { Icon } from "../components/confirm-card/Icon";
import { ThreadList, type useThreadList } from "../components/thread-list";
import { Choices, type ChoicesProps } from "./Choices";

interface Props extends ChoicesProps {
  list: ReturnType<typeof useThreadList>;
  current: string;
  waits: Record<string, string>;
  isOpen: boolean;
  onClose: () => void;
  onOpen: (id: string) => void;
  onNew: () => void;
}

/** The chats; on narrow screens a drawer. */
export function Sidebar({ list, current, waits, isOpen, onClose, onOpen, onNew, ...choices }: Props) {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen) first.current?.focus();
  }, [isOpen]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) onClose();
    };
    if (isOpen) document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [isOpen, onClose]);
  const remove = async (id: string) => {
    const problem = await list.remove(id);
    if (problem === null && id === current) onNew();
    if (problem === null) first.current?.focus(); // the row that had the focus is gone
    return problem;
  };
  return (
    <>
      <nav id="sidebar" className="sidebar" data-open={isOpen} aria-label="Chats">
        <p className="brand"><img src="./favicon.svg" alt="" width="24" height="24" />agui-gate</p>
        <button ref={first} className="new-chat" type="button" onClick={onNew}><Icon name="plus" />New chat</button>
        <ThreadList threads={list.threads} current={current} waits={waits} onOpen={onOpen} onDelete={remove} onRename={list.rename} />
        <div className="choices"><Choices {...choices} /></div>
        <p className="which">Built with CopilotKit.<br /><a href="../">The built-in page</a></p>
      </nav>
      {isOpen && <div className="scrim" onClick={onClose} />}
    </>
  );
}
