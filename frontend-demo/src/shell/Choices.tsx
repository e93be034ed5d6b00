import { STYLES, VIAS, type Choice, type Style, type Via } from "../connection";

export interface ChoicesProps {
  choice: Choice;
  onChoose: (changes: Partial<Choice>) => void;
}

/** How the page reaches the agent and how it asks. */
export function Choices({ choice, onChoose }: ChoicesProps) {
  return (
    <>
      <Select label="Connection" value={choice.via} options={VIAS} onChange={(via) => onChoose({ via: via as Via })} />
      <Select label="Approvals" value={choice.style} options={STYLES} onChange={(style) => onChoose({ style: style as Style })} />
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
