import { Icon } from "../components/confirm-card/Icon";
import { humanize } from "../components/confirm-card/values";
import { choiceUrl, STYLES, VIAS, type Choice, type Style, type Via } from "../connection";
import { ThemeButton } from "./ThemeButton";

interface Props {
  /** The agent's name, once it is known. */
  name: string | undefined;
  choice: Choice;
  isDrawerOpen: boolean;
  onMenu: () => void;
}

/** Who answers, how the page reaches it and how it asks. Another choice is another address, so it is a page load. */
export function Header({ name, choice, isDrawerOpen, onMenu }: Props) {
  return (
    <header className="top">
      <button className="icon-button menu" type="button" aria-label="Chats" aria-controls="sidebar" aria-expanded={isDrawerOpen} onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <h1>{name ? humanize(name) : "agui-gate"}</h1>
      <span className="spacer" />
      <Select label="Connection" value={choice.via} options={VIAS} onChange={(via) => location.assign(choiceUrl({ via: via as Via }))} />
      <Select label="Approvals" value={choice.style} options={STYLES} onChange={(style) => location.assign(choiceUrl({ style: style as Style }))} />
      <ThemeButton />
    </header>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: Record<string, string>;
  onChange: (value: string) => void;
}

function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <select className="choice" aria-label={label} title={label} value={value} onChange={(event) => onChange(event.target.value)}>
      {Object.entries(options).map(([key, text]) => <option key={key} value={key}>{text}</option>)}
    </select>
  );
}
