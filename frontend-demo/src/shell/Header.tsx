import type { ReactNode } from "react";
import { Icon } from "../components/confirm-card/Icon";
import { humanize } from "agui-gate-components/core/values.js";
import { Choices, type ChoicesProps } from "./Choices";
import { ThemeButton } from "./ThemeButton";

interface Props extends ChoicesProps {
  /** The agent's name, once it is known. */
  name: string | undefined;
  isDrawerOpen: boolean;
  onMenu: () => void;
  /** What stands before the choices. */
  children: ReactNode;
}

/** Who answers, how the page reaches it and how it asks. */
export function Header({ name, isDrawerOpen, onMenu, children, ...choices }: Props) {
  return (
    <header className="top">
      <button className="icon-button menu" type="button" aria-label="Chats" aria-controls="sidebar" aria-expanded={isDrawerOpen} onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <h1>{name ? humanize(name) : "agui-gate"}</h1>
      <span className="spacer" />
      {children}
      <Choices {...choices} />
      <ThemeButton />
    </header>
  );
}
