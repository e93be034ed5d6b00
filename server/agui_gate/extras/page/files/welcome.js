/** The empty chat: who this is, what it can do, and something to click. */

import { humanize } from "./components/core/values.js";
import { h, icon } from "./dom.js";

/** Draw `agent` into `node`; `choose(text)` is called with a clicked example. */
export function renderWelcome(node, agent, choose) {
  const examples = (agent?.examples ?? []).slice(0, 4);
  const name = humanize(agent?.name ?? "assistant");
  const description = agent?.description || "Ask in plain words. Actions that change something wait for your approval.";
  node.replaceChildren(
    h("span", { class: "welcome-mark" }, icon("gate")),
    h("h2", {}, name),
    h("p", { class: "welcome-text" }, description),
    ...toolList((agent?.tools ?? []).filter((tool) => !tool.agent)),
    ...teamList(agent?.team ?? []),
    ...(examples.length > 0 ? [h("ul", { class: "examples" }, examples.map((text) => h("li", {}, example(text, choose))))] : []),
  );
}

/** Nothing can be said yet: why, and the button that helps. `askToken()` asks, and returns what is said about it. */
export function renderProblem(node, { code, message }, { again, askToken }) {
  if (code === "unauthorized") return draw(node, { title: "This server requires a token", text: askToken(), label: "Enter token", act: askToken });
  if (code === "forbidden") return draw(node, { title: message, text: "What waits for your decision is in the inbox.", label: "Open the inbox", act: () => location.assign("inbox") });
  const title = code === "network" ? "The server can't be reached" : message;
  draw(node, { title, text: "Is it still running? Check the connection, then try again.", label: "Try again", act: again });
}

function draw(node, { title, text, label, act }) {
  node.replaceChildren(
    h("span", { class: "welcome-mark" }, icon("warning")),
    h("h2", {}, title),
    h("p", { class: "welcome-text" }, text),
    h("button", { class: "button primary", type: "button", onclick: () => void act() }, label),
  );
}

function example(text, choose) {
  return h("button", { class: "example", type: "button", onclick: () => choose(text) }, h("span", {}, text), icon("chevron"));
}

const LIST = new Intl.ListFormat("en");

function teamList(team) {
  return team.length === 0 ? [] : [h("p", { class: "welcome-team" }, `Works with ${LIST.format(team.map(({ name }) => humanize(name)))}.`)];
}

function toolList(tools) {
  if (tools.length === 0) return [];
  const items = tools.map((tool) => {
    const { name, description, gated } = typeof tool === "string" ? { name: tool } : tool;
    const mark = gated ? [icon("gate"), h("span", { class: "visually-hidden" }, "asks you first: ")] : [];
    return h("li", { class: gated ? "capability gated" : "capability", title: description ?? null }, mark, humanize(name));
  });
  return [h("ul", { class: "capabilities", "aria-label": "What it can do" }, items)];
}
