import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { createRenderer, renderBlocks, renderMarkdown } = await page("markdown.js");

const CASES = [
  ["two\nlines", "<p>two<br>lines</p>"],
  ["one\n\ntwo", "<p>one</p><p>two</p>"],
  ["**bold** and *it* and _it_", "<p><strong>bold</strong> and <em>it</em> and <em>it</em></p>"],
  ["snake_case_name and 2*3*4 = 24 * 1", "<p>snake_case_name and 2<em>3</em>4 = 24 * 1</p>"],
  ["`a < b` and **`c`**", "<p><code>a &lt; b</code> and <strong><code>c</code></strong></p>"],
  ["# Title", "<h3>Title</h3>"],
  ["### Deep\n\ntext\n\n### Deeper\n# Top", "<h3>Deep</h3><p>text</p><h4>Deeper</h4><h3>Top</h3>"],
  ["- a\n- b\n  - c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"],
  ["3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'],
  ["- a\n\n- b", "<ul><li>a</li><li>b</li></ul>"],
  ["> q\n> r", "<blockquote>q<br>r</blockquote>"],
  ["---", "<hr>"],
  ["```py\nx < 1\n```\nafter", '<pre tabindex="0" data-language="py"><code>x &lt; 1</code></pre><p>after</p>'],
  ["```\nstill open", '<pre tabindex="0"><code>still open</code></pre>'],
  ["| a | b | c |\n|---|--:|:-:|\n| 1 | 2 | 3 |", '<table tabindex="0"><thead><tr><th>a</th><th class="end">b</th><th class="center">c</th></tr></thead><tbody><tr><td>1</td><td class="end">2</td><td class="center">3</td></tr></tbody></table>'],
];

for (const [source, html] of CASES) test(`renders ${JSON.stringify(source)}`, () => assert.equal(renderMarkdown(source), html));

test("links are http(s) only and carry no opener", () => {
  const rel = 'target="_blank" rel="noopener noreferrer nofollow"';
  assert.equal(renderMarkdown("[x](https://e.org/?a=1&b=2)"), `<p><a href="https://e.org/?a=1&amp;b=2" ${rel}>x</a></p>`);
  assert.equal(renderMarkdown('[x](https://e.org/ "what it is")'), `<p><a href="https://e.org/" ${rel}>x</a></p>`);
  assert.equal(renderMarkdown("see https://e.org/a."), `<p>see <a href="https://e.org/a" ${rel}>https://e.org/a</a>.</p>`);
  for (const bad of ["[x](javascript:alert(1))", "[x](data:text/html,1)", "[x](//e.org)", "![x](https://e.org/a.png)"]) {
    assert.doesNotMatch(renderMarkdown(bad), /href="(?!https:)|<img/);
  }
});

test("no input gets a tag or an attribute past the escaping", () => {
  const pieces = ["<script>", "</p>", '"', "'", "<img src=x onerror=1>", "`", "**", "_", "[", "](https://e.org", ")", "\n", "\n\n", "- ", "|", "|---|", "|:-:|--:|", ' "', "\0", "\x000\0", "&", "```", "> ", "# ", "a"];
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 3000; round += 1) {
    const source = Array.from({ length: 1 + random(14) }, () => pieces[random(pieces.length)]).join("");
    const tags = renderMarkdown(source).match(/<[^>]*>/g) ?? [];
    for (const tag of tags) assert.match(tag, ALLOWED, JSON.stringify(source));
    assert.doesNotMatch(renderMarkdown(source).replace(/<[^>]*>/g, ""), /</);
  }
});

const ALLOWED =
  /^<(\/?(p|em|strong|del|code|pre|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|h[3-6]|a)|br|hr|table tabindex="0"|t[hd] class="(end|center)"|pre tabindex="0"( data-language="[\w+#.-]*")?|ol start="\d+"|a href="https?:[^"<>]*" target="_blank" rel="noopener noreferrer nofollow")>$/;

test("a growing text only changes its last blocks", () => {
  const source = "first\n\n- a\n- b\n\nlast paragraph";
  const first = renderBlocks(source)[0];
  for (let end = 7; end <= source.length; end += 1) assert.equal(renderBlocks(source.slice(0, end))[0], first);
});

test("long hostile input is rendered in linear time", () => {
  const started = process.cpuUsage(); // a busy machine is no slow program
  for (const piece of ["*", "_", "`", "[", "**a", "| ", "- ", "> ", "[a](", "~~"]) renderMarkdown(piece.repeat(100_000));
  for (const [begin, end] of [["# ", "x"], ["```", "|"], ["|", "x"], ["|-|-|", "x"], ["- ", "\u2028x"]]) renderMarkdown(`a|b\n${begin}${" ".repeat(100_000)}${end}`);
  const { user, system } = process.cpuUsage(started);
  assert.ok(user + system < 4_000_000, "µs");
});

test("what stands is not rendered anew at each piece that is appended", () => {
  const render = createRenderer();
  const started = process.cpuUsage();
  let text = "";
  for (let at = 0; at < 4000; at += 1) render((text += `Paragraph **${at}** with \`code\`, [a link](https://e.org/) and some more words.\n\n`));
  const { user, system } = process.cpuUsage(started);
  assert.ok(user + system < 4_000_000, "µs");
  assert.deepEqual(render(text), renderBlocks(text));
});

test("a text that grows piece by piece is what it is at once", () => {
  const pieces = ["`", "**", "[a](https://e.org)", "\n", "\n\n", "\n- ", "\n1. ", "|", "\n|---|--|\n", "\n```py\n", "\n> ", "\n## ", "a", "b c", "  ", "\n---\n", "\r\n"];
  let seed = 11;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 3000; round += 1) {
    const source = Array.from({ length: 1 + random(16) }, () => pieces[random(pieces.length)]).join("");
    const render = createRenderer();
    for (let end = 1; end < source.length; end += 1 + random(3)) render(source.slice(0, end));
    assert.deepEqual(render(source), renderBlocks(source), JSON.stringify(source));
  }
});

const HALVES = [
  ["go and **look up the", "<p>go and <strong>look up the</strong></p>"],
  ["go and **look*", "<p>go and <strong>look</strong></p>"],
  ["go and **", "<p>go and </p>"],
  ["so *far", "<p>so <em>far</em></p>"],
  ["call `refund", "<p>call <code>refund</code></p>"],
  ["see [the order](https://e.or", "<p>see the order</p>"],
  ["1. a\n2. **b", "<ol><li>a</li><li><strong>b</strong></li></ol>"],
  ["| a |b|\n|-|-|\n| ~~x", '<table tabindex="0"><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><del>x</del></td></tr></tbody></table>'],
  ["a **b\n\nc", "<p>a **b</p><p>c</p>"],
];
for (const [source, html] of HALVES) test(`closes what is half: ${JSON.stringify(source)}`, () => assert.equal(renderBlocks(source, true).join(""), html));
