/** What the page of operators shows of the server: what is used of its limits, what models have used, and what it runs. */

import { line, number, say, words } from "./adminwords.js";
import { reveal } from "./components/core/reveal.js";
import { html, nothing } from "./components/vendor/lit.js";
import { lang } from "./desk.js";

/** What is used of limits and budgets. */
export function meters({ limits, budgets }) {
  const amount = (value, unit) => (unit === "dollars" ? `$${value.toLocaleString(lang, { maximumFractionDigits: 4 })}` : unit === "tokens" ? say("tokens", { count: number(value) }) : number(value));
  const one = (name, most, used, unit) => html`<div class="meter"><span dir="auto">${reveal(name)}</span><span class="quiet">${used === null ? say("most", { most: amount(most, unit) }) : say("usedOf", { used: amount(used, unit), most: amount(most, unit) })}</span>
    ${used === null ? nothing : html`<meter min="0" max=${Math.max(most, 1e-9)} high=${most * 0.8} optimum="0" value=${Math.min(used, most)} aria-label=${name}></meter>`}</div>`;
  const spent = budgets.flatMap(({ scope, unit, most, used }) => (used.length > 0 ? used.map((it) => one([words.scopes[scope], it.of].filter(Boolean).join(" · "), most, it.used, unit)) : [one(words.scopes[scope], most, null, unit)]));
  const held = limits.map(({ name, most, used, of }) => one([name, of].filter(Boolean).join(" · "), most, used));
  return spent.length + held.length > 0 ? html`${spent}${held}` : html`<p class="quiet">${words.nothing}</p>`;
}

export function usageTable(usage) {
  if (!usage) return html`<p class="quiet">${words.noUsage}</p>`;
  if (usage.models.length === 0) return html`<p class="quiet">${words.nothing}</p>`;
  const heads = ["model", "requests", "failures", "input", "output", "cost"];
  return html`<div class="scrolls" tabindex="0" role="group" aria-labelledby="usage-title"><table><thead><tr>${heads.map((name) => html`<th scope="col">${words[name]}</th>`)}</tr></thead>
    <tbody>${usage.models.map((it) => html`<tr><td>${line(it.provider, it.model)}</td><td>${number(it.requests)}</td><td>${number(it.failed)}</td><td>${number(it.input_tokens)}</td><td>${number(it.output_tokens)}</td><td>${it.cost === null ? "–" : `$${it.cost.toFixed(4)}`}</td></tr>`)}</tbody></table></div>
    ${usage.is_whole ? nothing : html`<p class="quiet">${words.isPart}</p>`}`;
}

export const pairs = (known) => html`<dl class="pairs">${known.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
export const serverFacts = (it) => pairs([[words.version, it.version], [words.revision, it.revision ?? words.notKnown], [words.schema, it.schema], [words.store, it.store], [words.bus, it.bus], [words.processes, it.processes ?? words.notKnown], [words.runsHere, number(it.runs_here)]]);

/** The release of each replica: of a deployment that is half done there are two. */
export function replicas({ replicas: some, silent }) {
  const releases = new Set(some.map(({ version, revision }) => `${version} ${revision ?? ""}`));
  const state = releases.size > 1 || silent > 0 ? html`<p class="banner" role="status">${words.halfDone}</p>` : nothing;
  return html`${state}<div class="scrolls" tabindex="0" role="group" aria-labelledby="replicas-title"><table><thead><tr>${[words.host, words.process, words.version, words.revision].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${some.map((it) => html`<tr><td dir="auto">${line(it.host, it.is_here && words.thisOne)}</td><td>${it.pid}</td><td>${it.version}</td><td>${it.revision ?? words.notKnown}</td></tr>`)}
    ${silent > 0 ? html`<tr><td colspan="4" class="quiet">${say("silent", { count: number(silent) })}</td></tr>` : nothing}</tbody></table></div>`;
}
