/** Chromium, and pages that remember everything that went wrong in them. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--lang=en-US", // the order in which a date is typed
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--force-prefers-reduced-motion", // nothing waits for what only moves
  "--process-per-site", // pages of one server are one process, which starts and compiles what they run only once
];
export const TIMEOUT = 60_000; // ms; for every single wait, on a busy machine too
const SHOTS = join(fileURLToPath(new URL(".", import.meta.url)), "shots");

mkdirSync(SHOTS, { recursive: true });

/** The browser without its own surface takes a third less time; where it isn't installed, the whole one is as good. */
const CHROMIUM = process.env.CHROMIUM ?? ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((path) => existsSync(path));

export async function launch() {
  if (!CHROMIUM) throw new Error("no Chromium in /usr/bin: install chromium-headless-shell or chromium, or name one in CHROMIUM");
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

const VIEW = { viewport: { width: 1180, height: 860 } };
let usual = null;
const parked = new Map(); // by address without the thread: a page whose scenario is over

/**
 * A page. Without options it shares a context with the others of its kind, and takes over a parked page where there is
 * one: its files are loaded and compiled once for all scenarios. `page.problems` collects console
 * errors, unhandled errors, failed requests and requests to other machines; `page.allow(pattern)` names what a
 * scenario provokes on purpose.
 */
export async function openPage(browser, url, options = {}) {
  const own = Object.keys(options).length > 0;
  if (!own && !url.includes("#") && parked.has(url)) return takeOver(url);
  const context = own || !usual ? await browser.newContext({ ...VIEW, ...options }) : usual;
  context.setDefaultTimeout(TIMEOUT);
  if (!own) usual = context;
  return addPage(context, url);
}

async function takeOver(url) {
  const page = parked.get(url);
  parked.delete(url);
  await page.setViewportSize(VIEW.viewport);
  await page.bringToFront(); // a page behind another one is drawn once a second
  await page.locator(".welcome").waitFor();
  await lookAgain(page);
  page.forget();
  return page;
}

/** Close a page: its context too if it is its own, else what it has stored; or park it in a new chat, if nothing of it is special. */
export async function closePage(page, reusable) {
  if (page.isClosed()) return; // by its scenario
  if (page.context() !== usual) return page.context().close();
  await page.unrouteAll({ behavior: "ignoreErrors" }); // what it was told on purpose is told to nobody else
  const [url] = page.url().split("#");
  await page.evaluate(() => localStorage.clear()).catch(() => {}); // a page that failed to load has no storage
  const isBusy = async () => (await page.locator("[data-theme], dialog[open]").count()) > 0;
  if (!reusable || page.provoked || page.isRetimed || !url.includes("/copilot/?") || parked.has(url) || (await isBusy())) return page.close();
  await page.evaluate(() => (location.hash = `t=${crypto.randomUUID()}`));
  await see(page, "hidden"); // else it keeps one of the six connections to its server
  parked.set(url, page);
}

/**
 * Let a page that was parked read what waits, as it does when it is shown again: it may know of what is deleted by now,
 * and a request that is on its way could bring that again.
 */
async function lookAgain(page) {
  await quiet(page);
  const before = page.looks;
  await see(page, "visible");
  await until(() => page.looks > before && page.reads.size === 0);
  await drawn(page);
}

/** Wait until the page has all that it has asked of the server's records: what happens from here on it can't have read. */
export const quiet = (page) => until(() => page.reads.size === 0);

/** From here on a timer of the page for `from` ms or more, and less than `to`, is one for `ms`. */
export async function retime(page, { from, to = Infinity, ms }) {
  page.isRetimed = true; // it is nobody else's
  await page.evaluate(
    ([least, most, instead]) => {
      const set = window.setTimeout.bind(window);
      window.setTimeout = (run, wait, ...more) => set(run, wait >= least && wait < most ? instead : wait, ...more);
    },
    [from, to, ms],
  );
}

/** Wait until the page has drawn what it knows. */
export const drawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

async function until(isTrue) {
  for (const end = Date.now() + TIMEOUT; !isTrue(); await new Promise((resolve) => setTimeout(resolve, 20))) {
    if (Date.now() > end) throw new Error("the page is still reading");
  }
}

/** What a browser tells a page that is shown, or `hidden` behind another tab; without a window all pages are visible. */
export const see = (page, state) =>
  page.evaluate((now) => {
    Object.defineProperty(document, "visibilityState", { get: () => now, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);

/** Another tab of the same person. */
export async function addPage(context, url) {
  const page = await context.newPage();
  watch(page);
  await page.goto(url);
  return page;
}

function watch(page) {
  const seen = [];
  const allowed = [];
  page.on("console", (message) => {
    const problem = `console: ${message.text()} ${message.location()?.url ?? ""}`;
    if (message.type() === "error") seen.push(problem);
  });
  page.on("pageerror", (error) => seen.push(`unhandled: ${error.stack ?? error}`));
  page.on("requestfailed", (request) => {
    // A page that leaves or switches its connection aborts its own requests; those are no failures.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") seen.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on("request", (request) => {
    if (/^https?:/.test(request.url()) && new URL(request.url()).hostname !== "127.0.0.1") seen.push(`elsewhere: ${request.url()}`);
  });
  page.reads = new Set(); // of the records, on their way
  const isRead = (request) => request.method() === "GET" && /[?&]view=calls|\/approvals(\?|\/(?!events)[^/]+$)/.test(request.url());
  page.on("request", (request) => (request.isNavigationRequest() ? page.reads.clear() : isRead(request) && page.reads.add(request)));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => page.reads.delete(request));
  page.looks = 0; // how many times it has asked what waits
  page.on("request", (request) => (page.looks += /\/approvals\?/.test(request.url()) ? 1 : 0));
  page.allow = (pattern) => allowed.push(pattern);
  page.forget = () => seen.splice(0);
  Object.defineProperty(page, "provoked", { get: () => allowed.length > 0 });
  Object.defineProperty(page, "problems", { get: () => seen.filter((problem) => !allowed.some((pattern) => pattern.test(problem))) });
}

/** A picture for people to look at. */
export async function shot(page, name) {
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(SHOTS, `${name}.png`), animations: "disabled" });
}
