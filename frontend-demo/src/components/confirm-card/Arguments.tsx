import { useContext } from "react";
import { Schemas } from "./schemas";
import { Shown } from "./Shown";
import { noUnit, type Unit } from "./units";
import type { Schema } from "./fields";
import { emptiness, isObject, labelsOf, showValue, withUnit, type Json } from "./values";

/** What would be done with what, as a list a person can read. */
export function Arguments({ values, unit = noUnit, tool = "", schema: given }: { values: Json; unit?: Unit; tool?: string; schema?: Schema }) {
  const known = useContext(Schemas);
  const schema = given ?? known[tool];
  const names = Object.keys(values);
  if (names.length === 0) return <p className="gate-quiet">No arguments.</p>;
  const labels = labelsOf(names);
  return (
    <dl className="gate-arguments">
      {names.map((name) => (
        <div key={name} data-nested={isNested(values[name])}>
          <dt><Shown text={labels.get(name) ?? name} /></dt>
          <dd><Value value={values[name]} unit={unit(name, values[name])} schema={schema?.properties?.[name]} /></dd>
        </div>
      ))}
    </dl>
  );
}

const isNested = (value: unknown): boolean => isObject(value) || (Array.isArray(value) && value.some(isNested));

/** Nothing is set apart from text that says so. */
function Value({ value, unit = "", schema }: { value: unknown; unit?: string; schema?: Schema }) {
  const nothing = emptiness(value);
  if (nothing) return <em>{nothing}</em>;
  if (Array.isArray(value)) return value.map((item, at) => <div key={at} className="gate-item"><Value value={item} schema={schema?.items} /></div>);
  if (isObject(value)) return <Arguments values={value} schema={schema} />;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return <Shown text={withUnit(showValue(value, schema), unit)} />;
}
