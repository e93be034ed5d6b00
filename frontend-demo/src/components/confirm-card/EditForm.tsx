import { useEffect, useId, useState, type FormEvent, type ReactNode } from "react";
import { Arguments } from "./Arguments";
import { keepDraft, readDraft } from "./editDrafts";
import { readFields, toText, type Field, type Schema } from "./fields";
import { hiddenIn } from "./invisible";
import type { Unit } from "./units";
import type { Json } from "./values";

interface Props {
  /** The call's or the approval's: what was typed is kept by it until the card is answered or left. */
  id: string;
  fields: Field[];
  values: Json;
  unit: Unit;
  tool: string;
  schema?: Schema;
  /** Gets the values that were changed, and only those. */
  onSubmit: (changed: Json) => void;
  children: ReactNode;
}

/** The arguments with inputs for those that may be changed. Invalid input is explained next to it and not sent. */
export function EditForm({ id: call, fields, values, unit, tool, schema, onSubmit, children }: Props) {
  const id = useId();
  const [texts, setTexts] = useState(() => ({ ...Object.fromEntries(fields.map((field) => [field.name, toText(field)])), ...readDraft(call) }));
  useEffect(() => keepDraft(call, texts), [call, texts]); // a reload keeps it
  const [errors, setErrors] = useState<Record<string, string>>({});

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const { changed, problems } = readFields(fields, texts, values);
    setErrors(problems);
    const first = fields.find((field) => problems[field.name]);
    if (!first) return onSubmit(changed);
    (event.currentTarget.elements.namedItem(first.name) as HTMLElement | null)?.focus();
  }

  const fixed = Object.fromEntries(Object.entries(values).filter(([name]) => !fields.some(({ path }) => path[0] === name)));
  return (
    <form className="gate-form" noValidate onSubmit={submit}>
      {Object.keys(fixed).length > 0 && <Arguments values={fixed} unit={unit} tool={tool} schema={schema} />}
      {fields.map((field, at) => (
        <div className="gate-field" key={field.name}>
          <label htmlFor={`${id}-${field.name}`}>{field.label}{inUnit(field, unit)}</label>
          <Control
            field={field}
            id={`${id}-${field.name}`}
            text={texts[field.name] ?? ""}
            error={errors[field.name]}
            focus={at === 0}
            onChange={(text) => setTexts((before) => ({ ...before, [field.name]: text }))}
          />
          {help(field) && <p className="gate-help" id={`${id}-${field.name}-help`}>{help(field)}</p>}
          <Hidden text={texts[field.name] ?? ""} />
          {errors[field.name] && <p className="gate-error" id={`${id}-${field.name}-error`} role="alert">{errors[field.name]}</p>}
        </div>
      ))}
      {children}
    </form>
  );
}

/** ` (€)`; of a value inside of another one nothing is known. */
function inUnit({ path, value }: Field, unit: Unit): string {
  const sign = path.length === 1 ? unit(path[0] ?? "", value) : "";
  return sign && ` (${sign})`;
}

/** An input can't draw what is invisible in it. */
function Hidden({ text }: { text: string }) {
  const hidden = hiddenIn(text);
  return hidden.length > 0 ? <p className="gate-error" role="status">Has what can't be seen: {hidden.join(", ")}.</p> : null;
}

const help = ({ kind, help }: Field) => [help, kind === "lines" && "One per line."].filter(Boolean).join(" ");

interface ControlProps {
  field: Field;
  id: string;
  text: string;
  error?: string;
  focus: boolean;
  onChange: (text: string) => void;
}

function Control({ field, id, text, error, focus, onChange }: ControlProps) {
  const common = {
    id,
    name: field.name,
    autoFocus: focus,
    "aria-invalid": error ? true : undefined,
    "aria-describedby": [help(field) && `${id}-help`, error && `${id}-error`].filter(Boolean).join(" ") || undefined,
  };
  if (field.kind === "boolean") {
    return <input {...common} type="checkbox" checked={text === "true"} onChange={(event) => onChange(String(event.target.checked))} />;
  }
  if (field.kind === "choice") {
    const isOpen = field.nullable || field.value === undefined; // may be left without a choice
    return (
      <select {...common} value={text} onChange={(event) => onChange(event.target.value)}>
        {isOpen && <option value="">None</option>}
        {field.options?.map((option) => <option key={String(option)}>{String(option)}</option>)}
      </select>
    );
  }
  if (field.kind === "long" || field.kind === "lines" || field.kind === "json") {
    return <textarea {...common} data-kind={field.kind} rows={3} value={text} spellCheck={field.kind !== "json"} onChange={(event) => onChange(event.target.value)} />;
  }
  // Text with a numeric keyboard: number inputs swallow what they can't parse and change on a stray scroll.
  const numeric = field.kind === "number" || field.kind === "integer";
  return <input {...common} type="text" autoComplete="off" inputMode={numeric ? "decimal" : undefined} value={text} onChange={(event) => onChange(event.target.value)} />;
}
