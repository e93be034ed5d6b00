/** Characters that one can't see, or that turn the reading direction: shown as what they are, so that a value is read as it will be used. Pure. */

/** Controls, formats (zero width, bidi, tags), separators, private and stray code points, fillers, variation selectors. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]/u;
/** No digit, and no joiner by itself, though these are parts of some emoji. */
const EMOJI = /\p{Extended_Pictographic}/u;
const JOINED = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u{FE0F}/u;
const KEY = /[\d#*]/;
const CAP = "\u{20E3}"; // 1️⃣
/** Letters of scripts that need joiners to be written right (Persian, Hindi). */
const JOINING = /[\p{L}\p{M}]/u;
const PLAIN = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]/u;

const NAMES: Record<number, string> = {
  0x00ad: "soft hyphen",
  0x061c: "Arabic letter mark",
  0x200b: "zero width space",
  0x200c: "zero width non-joiner",
  0x200d: "zero width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "end of a direction",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "end of an isolate",
  0xfeff: "zero width no-break space",
};

/** A piece of text to show as it is, or a hidden character to show by its code and name. */
export type Piece = string | { code: string; name: string };

/** Takes a text apart. Most texts are one piece. */
export function pieces(text: string): Piece[] {
  if (!HIDDEN.test(text)) return [text];
  const signs = [...text];
  const found: Piece[] = [];
  let plain = "";
  for (const [at, sign] of signs.entries()) {
    if (!HIDDEN.test(sign) || sign === "\n" || sign === "\t" || belongs(sign, signs[at - 1], signs[at + 1])) {
      plain += sign;
      continue;
    }
    if (plain) found.push(plain);
    plain = "";
    found.push(named(sign));
  }
  return plain ? [...found, plain] : found;
}

/** The text as plain characters: `100⟦U+202E⟧.5`. */
export const reveal = (text: string): string => pieces(text).map((piece) => (typeof piece === "string" ? piece : `⟦${piece.code}⟧`)).join("");

/** What is hidden in a text, once each; for inputs, which can't show it. */
export function hiddenIn(text: string): string[] {
  const names = pieces(text).flatMap((piece) => (typeof piece === "string" ? [] : [`${piece.code} ${piece.name}`.trim()]));
  return [...new Set(names)];
}

/** Joiners and variants inside of emoji, and joiners inside of words that need them, are how these are written. */
function belongs(sign: string, before = "", after = ""): boolean {
  if (sign === "\u{FE0E}" || sign === "\u{FE0F}") return EMOJI.test(before) || (KEY.test(before) && after === CAP);
  if (sign === "\u{200D}" && JOINED.test(before) && EMOJI.test(after)) return true;
  const joins = (other: string) => JOINING.test(other) && !PLAIN.test(other);
  return (sign === "\u{200C}" || sign === "\u{200D}") && joins(before) && joins(after);
}

function named(sign: string): { code: string; name: string } {
  const point = sign.codePointAt(0) ?? 0;
  return { code: `U+${point.toString(16).toUpperCase().padStart(4, "0")}`, name: NAMES[point] ?? "invisible character" };
}
