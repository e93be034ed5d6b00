/**
 * The little Markdown that models write, as safe HTML. Pure, and linear in the length of the text: no pattern here may
 * look at a piece of text more than a few times, whoever wrote it.
 *
 * Safe because everything is escaped before anything is marked up: the only tags in the output are the ones written
 * here, and the only URLs are http(s) ones. No images (a remote image is a request the reader did not ask for).
 */

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const FENCE = /^(```+|~~~+)\s*([\w+#.-]*)$/; // of a trimmed line
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+([^]*)$/;
const HEADING = /^(#{1,6})\s+([^]*)$/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;

export const escapeHtml = (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

/** Top-level blocks as HTML strings. `half`: the text is not complete, and what it has begun last is closed. */
export const renderBlocks = (text, half = false) => createRenderer()(text, half);

/**
 * Renders a text that grows, as `renderBlocks` does: what is appended changes only the last blocks, so those before are
 * kept. Callers can diff by index.
 */
export function createRenderer() {
  let known = { source: "", blocks: [] }; // whole blocks, which nothing behind them can change
  return (text, half = false) => {
    if (text.slice(0, known.source.length) !== known.source) known = { source: "", blocks: [] };
    const lines = text.slice(known.source.length).replace(/\r\n?/g, "\n").split("\n");
    const blocks = [...known.blocks];
    let [at, whole, kept] = [0, 0, blocks.length];
    while (at < lines.length) {
      if (lines[at].trim() === "") {
        at += 1;
        continue;
      }
      const [html, next] = readBlock(lines, at, half, blocks);
      blocks.push(html);
      at = next;
      if (at + 2 < lines.length) [whole, kept] = [at, blocks.length]; // a block looks at two lines behind it, and the last line may go on
    }
    if (whole > 0 && !text.includes("\r")) {
      const length = lines.slice(0, whole).reduce((sum, line) => sum + line.length + 1, known.source.length);
      known = { source: text.slice(0, length), blocks: blocks.slice(0, kept) };
    }
    return blocks;
  };
}

export const renderMarkdown = (text) => renderBlocks(text).join("");

function readBlock(lines, at, half, before) {
  const line = lines[at];
  const isHalf = (end) => half && end >= lines.length;
  if (FENCE.test(line.trim())) return readFence(lines, at);
  if (RULE.test(line)) return ["<hr>", at + 1];
  const heading = HEADING.exec(line);
  if (heading) {
    const above = Number(before.findLast((html) => /^<h\d/.test(html))?.[2] ?? 2); // the page's own are h1 and h2
    const level = Math.min(heading[1].length + 2, above + 1, 6); // who listens misses none
    return [`<h${level}>${inline(withoutHashes(heading[2]), isHalf(at + 1))}</h${level}>`, at + 1];
  }
  if (ITEM.test(line)) return readList(lines, at, isHalf);
  if (/^\s*>/.test(line)) return readQuote(lines, at, isHalf);
  if (isTable(lines, at)) return readTable(lines, at, isHalf);
  return readParagraph(lines, at, isHalf);
}

/** A heading may end with the signs that it begins with. */
function withoutHashes(text) {
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  return text.slice(0, end).trimEnd();
}

function readFence(lines, at) {
  const [, fence, language] = FENCE.exec(lines[at].trim());
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(fence)) end += 1;
  const label = language ? ` data-language="${escapeHtml(language)}"` : "";
  const code = escapeHtml(lines.slice(at + 1, end).join("\n"));
  return [`<pre tabindex="0"${label}><code>${code}</code></pre>`, end + 1];
}

function readList(lines, at, isHalf) {
  const items = [];
  let end = at;
  while (end < lines.length && (ITEM.test(lines[end]) || isContinuation(lines, end, items))) {
    const item = ITEM.exec(lines[end]);
    if (item) items.push({ depth: item[1].length, ordered: /\d/.test(item[2]), start: parseInt(item[2], 10), text: item[3] });
    else if (lines[end].trim()) items.at(-1).text += `\n${lines[end].trim()}`;
    end += 1;
  }
  items.at(-1).half = isHalf(end);
  return [listHtml(items), end];
}

/** An indented line goes on with its item; a blank line belongs to the list when another item follows. */
function isContinuation(lines, at, items) {
  if (lines[at].trim() === "") return at + 1 < lines.length && ITEM.test(lines[at + 1]);
  return items.length > 0 && /^\s{2,}\S/.test(lines[at]);
}

function listHtml(items) {
  const { depth, ordered, start } = items[0];
  const groups = [];
  for (const item of items) {
    if (item.depth > depth && groups.length) groups.at(-1).children.push(item);
    else groups.push({ ...item, children: [] });
  }
  const body = groups.map(({ text, half, children }) => `<li>${inline(text, half)}${children.length ? listHtml(children) : ""}</li>`);
  const open = ordered ? `<ol${start > 1 ? ` start="${start}"` : ""}>` : "<ul>";
  return `${open}${body.join("")}</${ordered ? "ol" : "ul"}>`;
}

function readQuote(lines, at, isHalf) {
  let end = at;
  while (end < lines.length && /^\s*>/.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^\s*>\s?/, ""));
  return [`<blockquote>${inline(inner.join("\n").trim(), isHalf(end))}</blockquote>`, end];
}

const isTable = (lines, at) => lines[at].includes("|") && at + 1 < lines.length && isTableRule(lines[at + 1]);

function isTableRule(line) {
  const rules = cells(line);
  return rules.length > 1 && rules.every((rule) => /^:?-+:?$/.test(rule));
}

function readTable(lines, at, isHalf) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const sides = cells(lines[at + 1]).map((rule) => (rule.endsWith(":") ? ` class="${rule.startsWith(":") ? "center" : "end"}"` : ""));
  const row = (line, tag, half) => `<tr>${cells(line).map((cell, place, all) => `<${tag}${sides[place] ?? ""}>${inline(cell, half && place === all.length - 1)}</${tag}>`).join("")}</tr>`;
  const body = lines.slice(at + 2, end).map((line, place) => row(line, "td", isHalf(at + 3 + place)));
  return [`<table tabindex="0"><thead>${row(lines[at], "th")}</thead><tbody>${body.join("")}</tbody></table>`, end];
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());

function readParagraph(lines, at, isHalf) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== "" && !startsBlock(lines, end)) end += 1;
  return [`<p>${inline(lines.slice(at, end).join("\n").trim(), isHalf(end))}</p>`, end];
}

const startsBlock = (lines, at) =>
  FENCE.test(lines[at].trim()) || [RULE, HEADING, ITEM, /^\s*>/].some((pattern) => pattern.test(lines[at])) || isTable(lines, at);

const URL_IN_LINK = /\]\((https?:\/\/[^\s()<>"']+)(?: +"[^"\n]*")?\)/y;
const BARE_URL = /https?:\/\/[^\s()<>"'*\0]*[^\s()<>"'*.,;:!?\0]/g;

/** Code spans and links are put aside (as NUL-framed numbers) while the rest is escaped and marked up. */
function inline(source, half = false) {
  const kept = [];
  const keep = (html) => `\0${kept.push(html) - 1}\0`;
  const restore = (html) => html.replace(/\0(\d+)\0/g, (_, index) => restore(kept[index]));
  const text = withCode(source.replaceAll("\0", ""), half, (code) => keep(`<code>${escapeHtml(code.trim())}</code>`));
  const rest = withLinks(half ? withoutHalfLink(text) : text, (label, url) => keep(anchor(url, emphasis(escapeHtml(label))))).replace(BARE_URL, (url) => keep(anchor(url, escapeHtml(url))));
  return restore(emphasis(escapeHtml(half ? closed(rest) : rest)));
}

/** `text` with its code spans replaced: between two runs of backticks, as many on both sides as both have. */
function withCode(text, half, replace) {
  const pieces = text.split(/(`+)/); // every other one is backticks
  let done = pieces[0];
  for (let at = 1, open = pieces[1]; at < pieces.length; at += 2) {
    const [code, close] = [pieces[at + 1], pieces[at + 2] ?? (half ? open : "")];
    const ticks = Math.min(open.length, close.length);
    if (ticks === 0 || code === "") {
      const isBegun = half && code === "" && at + 2 >= pieces.length; // its code is still to come
      done += (isBegun ? "" : open) + code;
      open = close;
      continue;
    }
    done += open.slice(ticks) + replace(code);
    open = close.slice(ticks);
    if (open === "") {
      done += pieces[at + 3] ?? "";
      at += 2;
      open = pieces[at + 2];
    }
  }
  return done;
}

/** `text` with its links replaced. A label begins at the first bracket behind whatever ends one. */
function withLinks(text, replace) {
  let [done, from, open] = ["", 0, -1];
  for (const { 0: sign, index } of text.matchAll(/[[\]\n]/g)) {
    if (index < from) continue;
    if (sign === "[") {
      if (open < 0) open = index;
      continue;
    }
    URL_IN_LINK.lastIndex = index;
    const url = sign === "]" && open >= 0 && index > open + 1 ? URL_IN_LINK.exec(text) : null;
    if (url) {
      done += text.slice(from, open) + replace(text.slice(open + 1, index), url[1]);
      from = URL_IN_LINK.lastIndex;
    }
    open = -1;
  }
  return done + text.slice(from);
}

/** A link whose address is still to come is its label. */
function withoutHalfLink(text) {
  const at = text.lastIndexOf("](");
  const open = at < 0 ? -1 : Math.max(text.lastIndexOf("]", at - 1), text.lastIndexOf("\n", at)) + 1;
  const label = at < 0 ? -1 : text.indexOf("[", open);
  return label >= 0 && label < at && !/[\s()]/.test(text.slice(at + 2)) ? text.slice(0, label) + text.slice(label + 1, at) : text;
}

const CLOSED = /\*\*(?=\S)[^*]+?\*\*|__(?=\S)[^_]+?__|~~(?=\S)[^~]+?~~|(?<!\*)\*(?=\S)[^*\n]+?\*/g;
const OPEN = [
  [/\*\*(?=\S)[^*]*(\*?)$/, "**"],
  [/(?<![\w_])__(?=\S)[^_]*(_?)$/, "__"],
  [/~~(?=\S)[^~]*(~?)$/, "~~"],
  [/(?<!\*)\*(?=\S)[^*\n]*()$/, "*"],
];

/** `text` with the emphasis closed that is open at its end. */
function closed(text) {
  const rest = text.replace(CLOSED, (found) => " ".repeat(found.length));
  if (/(\*\*|__|~~)$/.test(rest)) return text.slice(0, -2);
  for (const [pattern, sign] of OPEN) {
    const open = pattern.exec(rest);
    if (open) return text.slice(0, text.length - open[1].length) + sign;
  }
  return text;
}

const anchor = (url, html) =>
  `<a href="${escapeHtml(url)}" target="_blank" rel="noopener noreferrer nofollow">${html}</a>`;

/** On escaped text. `_` only at word boundaries, so that snake_case survives. */
function emphasis(html) {
  return html
    .replace(/\*\*(?=\S)([^*]+?)\*\*/g, "<strong>$1</strong>")
    .replace(/(?<![\w_])__(?=\S)([^_]+?)__(?![\w_])/g, "<strong>$1</strong>")
    .replace(/\*(?=\S)([^*\n]+?)\*/g, "<em>$1</em>")
    .replace(/(?<![\w_])_(?=\S)([^_\n]+?)_(?![\w_])/g, "<em>$1</em>")
    .replace(/~~(?=\S)([^~]+?)~~/g, "<del>$1</del>")
    .replace(/\n/g, "<br>");
}
