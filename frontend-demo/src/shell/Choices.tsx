import { choiceUrl, STYLES, VIAS, type Choice, type Style, type Via } from "../connection";

/** How the page reaches the agent and how it asks. Another choice is another address, so it is a page load. */
export function Choices({ choice }: { choice: Choice }) {
  return (
    <>
      <Select label="Connection" value={choice.via} options={VIAS} onChange={(via) => location.assign(choiceUrl({ via: via as Via }))} />
      <Select label="Approvals" value={choice.style} options={STYLES} onChange={(style) => location.assign(choiceUrl({ style: style as Style }))} />
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
