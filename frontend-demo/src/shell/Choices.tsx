import { humanize } from "agui-gate-components/core/values.js";
import { STYLES, VIAS, type Choice, type Style, type Via } from "../connection";

export interface ChoicesProps {
  /** The names of the agents that there are. */
  agents: readonly string[];
  choice: Choice;
  onChoose: (changes: Partial<Choice>) => void;
}

const isDeveloper = new URLSearchParams(location.search).has("dev");

/** Who answers in a new chat where there are several, and with `?dev` how the page reaches the agent, and how it asks. A Node runtime is only offered where the address names one: most don't run it. */
export function Choices({ agents, choice, onChoose }: ChoicesProps) {
  const { runtime, ...others } = VIAS;
  return (
    <>
      {agents.length > 1 && <Select label="Agent" value={choice.agent} options={Object.fromEntries(agents.map((name) => [name, humanize(name)]))} onChange={(agent) => onChoose({ agent })} />}
      {isDeveloper && <Select label="Connection" value={choice.via} options={choice.hasRuntime ? { ...others, runtime } : others} onChange={(via) => onChoose({ via: via as Via })} />}
      {isDeveloper && <Select label="Approvals" value={choice.style} options={STYLES} onChange={(style) => onChoose({ style: style as Style })} />}
    </>
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
