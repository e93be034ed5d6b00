import { humanize, showValue, type Json } from "./values";

/** What would be done with what, as a list a person can read. */
export function Arguments({ values }: { values: Json }) {
  const names = Object.keys(values);
  if (names.length === 0) return <p className="gate-quiet">No arguments.</p>;
  return (
    <dl className="gate-arguments">
      {names.map((name) => (
        <div key={name}>
          <dt>{humanize(name)}</dt>
          <dd>{structured(values[name]) ? <pre tabIndex={0}>{showValue(values[name])}</pre> : showValue(values[name])}</dd>
        </div>
      ))}
    </dl>
  );
}

const structured = (value: unknown) => typeof value === "object" && value !== null;
