/** What a scenario works with: pages on the right address, the provider's script, processes, and the chat's parts. */

import assert from "node:assert/strict";
import { addPage, closePage, openPage, shot, TIMEOUT } from "./browser.mjs";
import { eventually, OFTEN } from "./eventually.mjs";

const CARD = '[data-testid="gate-card"]';
const GUARDED = { authorization: "Bearer wonderland" };

export class Stage {
  constructor({ browser, options, urls, ask, name }) {
    Object.assign(this, { browser, urls, ask, via: options.via ?? "direct", style: options.style ?? "card", runtime: options.runtime ?? "runtime", page: options.page ?? "copilot", own: options.server ? urls[options.server] : null, foreign: options.url });
    this.agent = "";
    this.label = [name, options.page ?? options.runtime ?? options.via, options.style].filter(Boolean).join("-");
    this.pages = [];
  }

  // --- pages ---

  /** The CopilotKit page over the connection and in the style that this run is about. */
  async open({ thread, server = this.urls.server, tall = false, ...options } = {}) {
    const page = this.#adopt(await openPage(this.browser, this.address(thread, server), options));
    if (tall) await page.setViewportSize({ width: 1180, height: 1200 });
    return page;
  }

  /** Another tab of the person whose page that is. */
  async tab(page, url) {
    return this.#adopt(await addPage(page.context(), url ?? page.url()));
  }

  async openUrl(url, options) {
    return this.#adopt(await openPage(this.browser, url, options));
  }

  address(thread, server = this.urls.server) {
    const url = new URL(`/${this.page}/`, server);
    if (this.agent) url.searchParams.set("agent", this.agent);
    url.searchParams.set("via", this.via);
    url.searchParams.set("hitl", this.style);
    const runtime = server === this.urls.guarded ? this.urls["guarded runtime"] : this.urls[this.runtime];
    url.searchParams.set("runtime", `${runtime}/api/copilotkit`);
    url.searchParams.set("dev", "");
    if (thread) url.hash = `t=${thread}`;
    return url.href;
  }

  #adopt(page) {
    this.pages.push(page);
    return page;
  }

  /** A picture of this state, where they are asked for; one connection is enough, they look the same. */
  async shot(page, name = "") {
    if (!process.env.SHOTS) return;
    if (this.via === "direct" || name === "banner") await shot(page, [this.label, name].filter(Boolean).join("-"));
  }

  get problems() {
    return this.pages.flatMap((page) => page.problems);
  }

  assertClean() {
    assert.deepEqual(this.problems, [], "the page had something to complain about");
  }

  /**
   * Nothing of earlier scenarios is left, which may have failed: no script, and no chat. Else a run that goes on would
   * take the turns of this scenario's script, and a list would show more than was asked for.
   */
  async begin() {
    await this.#clearAll();
    await this.script();
  }

  #clearAll = () => Promise.all([this.#clear(this.urls.server, {}), this.#clear(this.urls.guarded, GUARDED), this.own && this.#clear(this.own, {})]);

  async #clear(server, headers) {
    const { threads } = await (await fetch(`${server}/threads?limit=100`, { headers })).json();
    await Promise.all(threads.map(({ id }) => remove(`${server}/threads/${id}`, headers)));
  }

  /** `passed`: the next scenario may go on with these pages. */
  async close(passed) {
    for (const page of this.pages) await closePage(page, passed);
  }

  // --- the other processes ---

  stop = (process) => this.ask({ do: "stop", process });
  kill = (process) => this.ask({ do: "kill", process });
  start = (process) => this.ask({ do: "start", process });

  async restart(process) {
    await this.stop(process);
    await this.start(process);
  }

  /** What the model says from here on; after the turns, the demo brain. */
  async script(...turns) {
    const response = await fetch(`${this.urls.provider}/emulator/script`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ turns, then: "brain" }),
    });
    assert.equal(response.status, 200, await response.text());
  }

  /** Tools of the server that take their time (`stock_report`, `pack_order`) are done. */
  async finish() {
    assert.equal((await fetch(`${this.own ?? this.urls.server}/finish`, { method: "POST" })).status, 204);
  }

  /** The arguments with which a tool ran that a person had edited, as the model is told. */
  async edited() {
    const outputs = (await this.journal()).at(-1).body.input.filter(({ type }) => type === "function_call_output");
    return JSON.parse(outputs.at(-1).output).arguments;
  }

  /** Every request to the provider so far, the latest last. */
  journal = async () => (await (await fetch(`${this.urls.provider}/emulator/journal`)).json()).entries;

  // --- the chat ---

  async say(page, text) {
    await page.getByTestId("copilot-chat-textarea").fill(text);
    await this.send(page);
  }

  /** The chat takes nothing while it still looks for its agent: press again, as a person would. An empty field would stop the run. */
  async send(page) {
    const input = page.getByTestId("copilot-chat-textarea");
    await eventually(async () => {
      if ((await input.inputValue()) !== "") await input.press("Enter");
      assert.equal(await input.inputValue(), "", "the chat doesn't take the message");
    });
  }

  /** Wait until nothing is at work in the page's chat by the server's word, which may take longer than what the page shows of it. */
  async rests(page) {
    const id = new URL(page.url()).hash.slice(3);
    await eventually(async () => {
      const { run } = await (await fetch(`${this.own ?? this.urls.server}/threads/${id}?view=calls`)).json();
      assert.notEqual(run?.status, "running");
    });
  }

  /** Wait until the chat shows `text` from the assistant and nothing runs. */
  async answered(page, text) {
    await page.locator('[data-testid="copilot-assistant-message"]', { hasText: text }).last().waitFor();
    await this.idle(page);
  }

  idle = (page) => page.waitForSelector('[data-testid="copilot-chat"][data-copilot-running="false"]', { state: "attached" });

  card = (page, tool) => page.locator(tool ? `${CARD}[data-tool="${tool}"]` : CARD).first();
  press = (page, name, tool) => this.card(page, tool).getByRole("button", { name, exact: true }).click();

  chips = (page) => page.$$eval('[data-testid="tool-chip"]', (all) => all.map((chip) => `${chip.dataset.tool}:${chip.dataset.status}`));

  /** Wait until the tool chips are exactly these. */
  async chipsAre(page, expected) {
    const wanted = expected.join();
    const now = () => this.chips(page);
    await page
      .waitForFunction((list) => [...document.querySelectorAll('[data-testid="tool-chip"]')].map((chip) => `${chip.dataset.tool}:${chip.dataset.status}`).join() === list, wanted, { timeout: TIMEOUT, polling: OFTEN })
      .catch(async () => assert.deepEqual(await now(), expected));
  }

  /** The chips of calls that wait: a peer of 1.0 has the card alone, and the call when it is decided (docs/http-api.md). */
  waits = (...chips) => (this.style === "card" && (this.page === "next" || this.runtime === "mixed runtime") ? [] : chips);

  /** A thread in the list, by its title. */
  thread = (page, title) => page.locator(".thread", { has: page.locator(".thread-title", { hasText: title }) });

  userMessages = (page) => page.locator('[data-testid="copilot-user-message"]').count();
  banner = (page, code) => page.locator(`[data-testid="banner"]${code ? `[data-code="${code}"]` : ""}`);
}

/** Delete a chat, whatever is at work in it, and however long that takes to end. */
const remove = (url, headers) =>
  eventually(async () => {
    await fetch(`${url}/cancel`, { method: "POST", headers });
    const { status } = await fetch(url, { method: "DELETE", headers });
    assert.ok(status === 200 || status === 404, `${url} was not deleted: ${status}`);
  });

// --- the provider's turns ---

export const call = (name, args) => ({ type: "function_call", name, arguments: args });
export const says = (text) => ({ output: [{ type: "message", text }] });
export const calls = (text, ...all) => ({ output: [{ type: "message", text }, ...all] });
export const refund = (order_id = "1003", amount = 0.1) => call("refund", { order_id, amount });

/** A call with something of everything that can be edited, and the arguments that it is made with. */
export const DETAILS = { order_id: "1003", to: { street: "Lange Straße 17", zip: null, business: false }, carrier: "ups", boxes: 2, insured: true, gift_message: null, tags: ["fragile"] };
export const ship = () => call("ship_order", DETAILS);
