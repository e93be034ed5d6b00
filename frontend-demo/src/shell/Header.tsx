import { Icon } from "../components/confirm-card/Icon";
import { humanize } from "../components/confirm-card/values";
import type { Choice } from "../connection";
import { Choices } from "./Choices";
import { ThemeButton } from "./ThemeButton";

interface Props {
  /** The agent's name, once it is known. */
  name: string | undefined;
  choice: Choice;
  isDrawerOpen: boolean;
  onMenu: () => void;
}

/** Who answers, how the page reaches it and how it asks. */
export function Header({ name, choice, isDrawerOpen, onMenu }: Props) {
  return (
    <header className="top">
      <button className="icon-button menu" type="button" aria-label="Chats" aria-controls="sidebar" aria-expanded={isDrawerOpen} onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <h1>{name ? humanize(name) : "agui-gate"}</h1>
      <span className="spacer" />
      <Choices choice={choice} />
      <ThemeButton />
    </header>
  );
}
