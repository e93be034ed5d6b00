import { Shown } from "./Shown";
import { noUnit, type Unit } from "./units";
import { emptiness, isObject, labelsOf, showValue, type Json } from "./values";

/** What would be done with what, as a list a person can read. */
export function Arguments({ values, unit = noUnit }: { values: Json; unit?: Unit }) {
  const names = Object.keys(values);
  if (names.length === 0) return <p className="gate-quiet">No arguments.</p>;
  const labels = labelsOf(names);
  return (
    <dl className="gate-arguments">
      {names.map((name) => (
        <div key={name} data-nested={isNested(values[name])}>
          <dt><Shown text={labels.get(name) ?? name} /></dt>
          <dd><Value value={values[name]} />{unit(name, values[name]) && ` ${unit(name, values[name])}`}</dd>
        </div>
      ))}
    </dl>
  );
}

const isNested = (value: unknown): boolean => isObject(value) || (Array.isArray(value) && value.some(isNested));

/** Nothing is set apart from text that says so. */
function Value({ value }: { value: unknown }) {
  const nothing = emptiness(value);
  if (nothing) return <em>{nothing}</em>;
  if (Array.isArray(value)) return value.map((item, at) => <div key={at} className="gate-item"><Value value={item} /></div>);
  if (isObject(value)) return <Arguments values={value} />;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return <Shown text={showValue(value)} />;
}
