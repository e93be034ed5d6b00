/**
 * The little Markdown that models write, as safe HTML. Pure.
 *
 * Safe because everything is escaped before anything is marked up: the only tags in the output are the ones written
 * here, and the only URLs are http(s) ones. No images (a remote image is a request the reader did not ask for).
 */

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const FENCE = /^\s*(```+|~~~+)\s*([\w+#.-]*)\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$/;

export const escapeHtml = (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

/** Top-level blocks as HTML strings. A streamed text only ever changes its last blocks, so callers can diff by index. */
export function renderBlocks(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const [html, next] = readBlock(lines, at);
    blocks.push(html);
    at = next;
  }
  return blocks;
}

export const renderMarkdown = (text) => renderBlocks(text).join("");

function readBlock(lines, at) {
  const line = lines[at];
  if (FENCE.test(line)) return readFence(lines, at);
  if (RULE.test(line)) return ["<hr>", at + 1];
  const heading = HEADING.exec(line);
  if (heading) {
    const level = Math.min(heading[1].length + 2, 6); // The page's own headings are h1 and h2.
    return [`<h${level}>${inline(heading[2])}</h${level}>`, at + 1];
  }
  if (ITEM.test(line)) return readList(lines, at);
  if (/^\s*>/.test(line)) return readQuote(lines, at);
  if (isTable(lines, at)) return readTable(lines, at);
  return readParagraph(lines, at);
}

function readFence(lines, at) {
  const [, fence, language] = FENCE.exec(lines[at]);
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(fence)) end += 1;
  const label = language ? ` data-language="${escapeHtml(language)}"` : "";
  const code = escapeHtml(lines.slice(at + 1, end).join("\n"));
  return [`<pre tabindex="0"${label}><code>${code}</code></pre>`, end + 1];
}

function readList(lines, at) {
  const items = [];
  let end = at;
  while (end < lines.length && (ITEM.test(lines[end]) || isContinuation(lines, end, items))) {
    const item = ITEM.exec(lines[end]);
    if (item) items.push({ depth: item[1].length, ordered: /\d/.test(item[2]), start: parseInt(item[2], 10), text: item[3] });
    else if (lines[end].trim()) items.at(-1).text += `\n${lines[end].trim()}`;
    end += 1;
  }
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
    else groups.push({ text: item.text, children: [] });
  }
  const body = groups.map(({ text, children }) => `<li>${inline(text)}${children.length ? listHtml(children) : ""}</li>`);
  const open = ordered ? `<ol${start > 1 ? ` start="${start}"` : ""}>` : "<ul>";
  return `${open}${body.join("")}</${ordered ? "ol" : "ul"}>`;
}

function readQuote(lines, at) {
  let end = at;
  while (end < lines.length && /^\s*>/.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^\s*>\s?/, ""));
  return [`<blockquote>${inline(inner.join("\n").trim())}</blockquote>`, end];
}

const isTable = (lines, at) => lines[at].includes("|") && at + 1 < lines.length && TABLE_RULE.test(lines[at + 1]);

function readTable(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const row = (line, tag) => `<tr>${cells(line).map((cell) => `<${tag}>${inline(cell)}</${tag}>`).join("")}</tr>`;
  const body = lines.slice(at + 2, end).map((line) => row(line, "td"));
  return [`<table><thead>${row(lines[at], "th")}</thead><tbody>${body.join("")}</tbody></table>`, end];
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());

function readParagraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== "" && !startsBlock(lines, end)) end += 1;
  return [`<p>${inline(lines.slice(at, end).join("\n").trim())}</p>`, end];
}

const startsBlock = (lines, at) =>
  [FENCE, RULE, HEADING, ITEM, /^\s*>/].some((pattern) => pattern.test(lines[at])) || isTable(lines, at);

const CODE = /(`+)([^`]+)\1/g;
const LINK = /\[([^\]\n]+)\]\((https?:\/\/[^\s()<>"']+)\)/g;
const BARE_URL = /https?:\/\/[^\s()<>"'*\0]*[^\s()<>"'*.,;:!?\0]/g;

/** Code spans and links are put aside (as NUL-framed numbers) while the rest is escaped and marked up. */
function inline(text) {
  const kept = [];
  const keep = (html) => `\0${kept.push(html) - 1}\0`;
  const restore = (html) => html.replace(/\0(\d+)\0/g, (_, index) => restore(kept[index]));
  const rest = text
    .replaceAll("\0", "")
    .replace(CODE, (_, _ticks, code) => keep(`<code>${escapeHtml(code.trim())}</code>`))
    .replace(LINK, (_, label, url) => keep(anchor(url, emphasis(escapeHtml(label)))))
    .replace(BARE_URL, (url) => keep(anchor(url, escapeHtml(url))));
  return restore(emphasis(escapeHtml(rest)));
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
