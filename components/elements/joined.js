/** Templates made in one go: each that is made on its own costs as much as all that is in it. */

/**
 * @typedef {{strings: TemplateStringsArray, values: unknown[]}} Template
 * @typedef {{next: Map<unknown, Shape>, strings?: TemplateStringsArray}} Shape
 */

/** @type {Shape} What was joined before: by the strings of its templates, in their order, and null for each other value. */
const shapes = { next: new Map() };

/**
 * `template` with the templates among its values, and theirs, as one. Where another one takes the place of one of these,
 * all is made anew. So what comes and goes beside something that is used stands in an array, which is left alone.
 * @template {Template} Whole
 * @param {Whole} template
 * @returns {Whole}
 */
export function joined(template) {
  let shape = shapes;
  /** @type {unknown[]} */
  const values = [];
  /** @param {unknown} value */
  const add = (value) => {
    const inner = isTemplate(value) ? value : null;
    const key = inner && inner.strings;
    let next = shape.next.get(key);
    if (!next) shape.next.set(key, (next = { next: new Map() }));
    shape = next;
    if (inner) for (const one of inner.values) add(one);
    else values.push(value);
  };
  add(template);
  shape.strings ??= textOf(template);
  return { ...template, strings: shape.strings, values };
}

/** @param {Template} template */
function textOf(template) {
  const texts = [""];
  /** @param {unknown} value */
  const add = (value) => {
    if (!isTemplate(value)) texts.push("");
    else
      value.strings.forEach((text, at) => {
        texts[texts.length - 1] += text;
        if (at < value.values.length) add(value.values[at]);
      });
  };
  add(template);
  return asStrings(texts);
}

/**
 * As the browser makes them of a template: nothing that is read as JSON has `raw`, so that it can't be taken for one.
 * @param {string[]} texts
 */
const asStrings = (texts) => /** @type {TemplateStringsArray} */ (/** @type {unknown} */ (Object.assign(texts, { raw: texts })));

/** What stands where a template may. @type {Template} */
export const NONE = { strings: asStrings([""]), values: [] };

/** @type {Map<string, Template>} */
const literals = new Map();

/**
 * Words that are the same in every card, as a part of the text of a template that is joined. What an ask says is none of them:
 * each is kept for good.
 * @param {string} text
 */
export function literal(text) {
  let known = literals.get(text);
  if (!known) literals.set(text, (known = { strings: asStrings([text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)]), values: [] }));
  return known;
}

/** @type {TemplateStringsArray[]} */
const gaps = [];

/** Templates one after the other, as one. @param {unknown[]} values */
export const listed = (values) => ({ strings: (gaps[values.length] ??= asStrings(new Array(values.length + 1).fill(""))), values });

/**
 * @param {unknown} value
 * @returns {value is Template}
 */
function isTemplate(value) {
  const { strings } = /** @type {Partial<Template>} */ (value ?? {});
  return Array.isArray(strings) && "raw" in strings;
}
