import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { Icon } from "../confirm-card/Icon";

interface Props {
  title: string;
  onRename: () => void;
  onDelete: () => void;
}

/** What can be done with a thread, in words. The arrow keys move in it; Escape and a click elsewhere close it. */
export function ThreadMenu({ title, onRename, onDelete }: Props) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const choose = (action: () => void) => () => {
    close();
    action();
  };
  return (
    <div className="thread-menu" onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false)}>
      <button ref={button} type="button" className="thread-more" aria-haspopup="menu" aria-expanded={isOpen} aria-label={`More about “${title}”`} onClick={() => setOpen(!isOpen)}>
        <Icon name="more" />
      </button>
      {isOpen && <Items onRename={choose(onRename)} onDelete={choose(onDelete)} onClose={close} />}
    </div>
  );
}

function Items({ onRename, onDelete, onClose }: Omit<Props, "title"> & { onClose: () => void }) {
  const menu = useRef<HTMLDivElement>(null);
  const items = () => [...(menu.current?.querySelectorAll("button") ?? [])];
  useEffect(() => {
    menu.current?.scrollIntoView({ block: "nearest" }); // the last thread's menu may be below the list's end
    items()[0]?.focus();
  }, []);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") onClose();
    else if (step === undefined) return;
    else {
      const all = items();
      const at = all.findIndex((item) => item === document.activeElement);
      all.at((at + step) % all.length)?.focus();
    }
    event.preventDefault();
    event.stopPropagation(); // else a drawer would close with it
  };
  return (
    <div ref={menu} className="thread-items" role="menu" onKeyDown={move}>
      <button type="button" role="menuitem" onClick={onRename}><Icon name="edit" />Rename</button>
      <button type="button" role="menuitem" className="danger" onClick={onDelete}><Icon name="bin" />Delete…</button>
    </div>
  );
}
