/** Templates made in one go: each that is made on its own costs as much as all that is in it. */

/**
 * @typedef {{strings: TemplateStringsArray, values: unknown[]}} Template
 */

/** @type {Map<string, TemplateStringsArray>} What was joined before, by its whole text: the latest last. */
const known = new Map();
const MOST = 300; // shapes of arguments; with what they are drawn of some 4 KB each

/**
 * `template` with the templates among its values, and theirs, as one. Where another one takes the place of one of these,
 * all is made anew. So what comes and goes beside something that is used stands in an array, which is left alone.
 * @template {Template} Whole
 * @param {Whole} template
 * @returns {Whole}
 */
export function joined(template) {
  const texts = [""];
  /** @type {unknown[]} */
  const values = [];
  /** @param {Template} part */
  const add = (part) =>
    part.strings.forEach((text, at) => {
      texts.push(texts.pop() + text);
      const value = part.values[at];
      if (isTemplate(value)) add(value);
      else if (at < part.values.length) texts[values.push(value)] = "";
    });
  add(template);
  const text = texts.join("\0");
  const strings = known.get(text) ?? asStrings(texts);
  known.delete(text);
  known.set(text, strings);
  if (known.size > MOST) known.delete([...known.keys()][0] ?? "");
  return { ...template, strings, values };
}

/**
 * As the browser makes them of a template: nothing that is read as JSON has `raw`, so that it can't be taken for one.
 * @param {string[]} texts
 */
export const asStrings = (texts) => /** @type {TemplateStringsArray} */ (/** @type {unknown} */ (Object.assign(texts, { raw: texts })));

/** What stands where a template may. */
export const NONE = listed([]);

/**
 * Words that are the same in every card, as a part of the text of a template that is joined. What an ask says is none of them:
 * each text is kept for good.
 * @param {string} text
 */
export const literal = (text) => ({ strings: asStrings([text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)]), values: [] });

/** Templates one after the other, as one. @param {unknown[]} values @returns {Template} */
export function listed(values) {
  return { strings: asStrings(new Array(values.length + 1).fill("")), values };
}

/**
 * @param {unknown} value
 * @returns {value is Template}
 */
function isTemplate(value) {
  const { strings } = /** @type {Partial<Template>} */ (value ?? {});
  return Array.isArray(strings) && "raw" in strings;
}
