/**
 * Characters that can't be seen, or that change what is seen around them, drawn as what they are: `⟦U+202E⟧`. What a
 * person approves has to be what it looks like. Pure.
 *
 * Left alone are line breaks and tabs, what joins the parts of an emoji, and joiners between letters of scripts that
 * are written with them (Persian, Hindi, …).
 */

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u2800]/u;
const EVERY = new RegExp(HIDDEN.source, "gu");
const JOINERS = "\u200c\u200d";
const SELECTORS = /[\ufe0e\ufe0f\u200d]/u;
// No single class: with that, Chromium 156 finds no emoji.
const PICTURE = /(?:\p{ExtPict}|\p{Emoji_Modifier}|[\u20e3\ufe0f])$/u;
const SYMBOL = /\p{ExtPict}$/u; // no digit, though digits are part of some emoji
const KEY = /[\d#*]$/;
const CAP = "\u20e3"; // 1️⃣
const JOINED =
  /[\p{sc=Arabic}\p{sc=Syriac}\p{sc=Mongolian}\p{sc=Devanagari}\p{sc=Bengali}\p{sc=Gurmukhi}\p{sc=Gujarati}\p{sc=Oriya}\p{sc=Tamil}\p{sc=Telugu}\p{sc=Kannada}\p{sc=Malayalam}\p{sc=Sinhala}\p{sc=Khmer}\p{sc=Myanmar}]$/u;

/**
 * `text` in pieces: `[{text}, {text: "⟦U+202E⟧", isHidden: true}, …]`.
 * @param {string} text
 * @returns {{text: string, isHidden?: boolean}[]}
 */
export function pieces(text) {
  if (!HIDDEN.test(text)) return [{ text }];
  /** @type {{text: string, isHidden?: boolean}[]} */
  const found = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(EVERY)) {
    if (isOrdinary(text, character, index)) continue;
    if (index > from) found.push({ text: text.slice(from, index) });
    found.push({ text: `⟦${code(character)}⟧`, isHidden: true });
    from = index + character.length;
  }
  return from < text.length || from === 0 ? [...found, { text: text.slice(from) }] : found;
}

/**
 * `text` as one string in which nothing is hidden.
 * @param {string} text
 */
export const reveal = (text) => (HIDDEN.test(text) ? pieces(text).map((piece) => piece.text).join("") : text);

/**
 * Whether `text` has something to reveal.
 * @param {string} text
 */
export const hides = (text) => HIDDEN.test(text) && reveal(text) !== text;

/** @param {string} character */
const code = (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/**
 * @param {string} text
 * @param {string} character
 * @param {number} index
 */
function isOrdinary(text, character, index) {
  if (character === "\n" || character === "\t") return true;
  if (character === "\r") return text[index + 1] === "\n";
  const before = text.slice(Math.max(0, index - 2), index);
  const after = text.slice(index + 1, index + 3);
  if (JOINERS.includes(character) && JOINED.test(before) && JOINED.test(first(after))) return true;
  if (!SELECTORS.test(character)) return false;
  if (character === "\u200d") return PICTURE.test(before) && SYMBOL.test(first(after));
  return SYMBOL.test(before) || (KEY.test(before) && after.startsWith(CAP));
}

/** @param {string} text */
const first = (text) => (text ? String.fromCodePoint(text.codePointAt(0) ?? 0) : "");
