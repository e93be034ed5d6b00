// Pages of another origin than the server's, with a strict policy; servers that stand in front of it, or are none.

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "../browser.mjs";

export const SERVER = process.env.SERVER.replace(/\/?$/, "/");
export const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

const closing = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

export const browser = await launch();
closing.push(() => browser.close());

/** A server of ours; `answer(request, response)`. Its address. */
export async function listen(answer) {
  const server = createServer(answer);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => new Promise((done) => (server.closeAllConnections(), server.close(done))));
  return Object.assign(server, { url: `http://127.0.0.1:${server.address().port}/` });
}

/** Something in front of the real server: `change(request)` may answer with `[status, body, type]`, or change what comes. */
export function proxy(change) {
  return listen(async (request, response) => {
    const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    if (request.method === "OPTIONS") return response.writeHead(204, headers).end();
    const own = await change(request);
    if (own === null) return request.socket.destroy();
    if (Array.isArray(own)) return response.writeHead(own[0], { ...headers, "content-type": own[2] ?? "application/json" }).end(own[1]);
    let body = "";
    for await (const part of request) body += part;
    const leaving = new AbortController();
    response.on("close", () => leaving.abort());
    const asked = { method: request.method, signal: leaving.signal, headers: { "content-type": request.headers["content-type"] ?? "", accept: request.headers.accept ?? "" } };
    const told = await fetch(SERVER + request.url.slice(1), { ...asked, ...(body && { body }) });
    response.writeHead(told.status, { ...headers, "content-type": told.headers.get("content-type") ?? "" });
    if (typeof own === "function") return response.end(own(await told.text()));
    try {
      for await (const part of told.body ?? []) response.write(part);
    } catch {
      // it left
    }
    response.end();
  });
}

/**
 * A page with this body, in a document that knows the elements: cases share it one after the other, and what was in it is
 * taken away. `script` is run once the body is there, which is `here`. `page.requests` are those to servers,
 * `page.problems` what the console says.
 */
export async function open(body, { script = "", viewport } = {}) {
  const page = shared.pop() ?? (await openOwn("", { viewport }));
  page.isShared = true;
  await bring(page, viewport);
  Object.assign(page, { requests: [], problems: [] });
  await page.evaluate(`(async () => {
    document.adoptedStyleSheets = [];
    sessionStorage.clear();
    const here = document.createElement("main");
    document.body.replaceChildren(here);
    here.innerHTML = ${JSON.stringify(`<h1>Shop</h1>${body}`)};
    ${script}
  })()`);
  return page;
}

/**
 * The same in a document of its own. Its script is a file of its own, as the policy wants it: nothing inline, nothing of a
 * third origin.
 */
export async function openOwn(body, { script = "", module = `${SERVER}components/auto.js`, viewport } = {}) {
  const policy = `default-src 'none'; script-src 'self' ${new URL(SERVER).origin}; connect-src http://127.0.0.1:*; base-uri 'none'`;
  const site = await listen((request, response) => {
    if (request.url === "/page.js") return response.writeHead(200, { "content-type": "text/javascript" }).end(script);
    const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title><meta name="viewport" content="width=device-width">
      <script type="module" src="${module}"></script>${script && '<script type="module" src="/page.js"></script>'}<body><main><h1>Shop</h1>${body}</main>`;
    response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy }).end(html);
  });
  return visit(site.url, { viewport });
}

const EXAMPLES = new URL("../../../examples/pages/", import.meta.url);

/** A page of `examples/pages`, or of what is built there, which takes this server for the one that it names. `change(text, file)` */
export async function example(name, query = "", folder = EXAMPLES, change = (text) => text) {
  const site = await listen((request, response) => {
    const file = new URL(request.url, "http://localhost").pathname.slice(1);
    if (file === "favicon.ico") return response.writeHead(204).end();
    const text = readFileSync(new URL(file, folder), "utf8").replaceAll("http://127.0.0.1:8000/", SERVER);
    response.writeHead(200, { "content-type": file.endsWith(".js") ? "text/javascript" : "text/html" }).end(change(text, file));
  });
  return visit(`${site.url}${name}${query}`);
}

export const BUILT = new URL("dist/", EXAMPLES);

/** `next start` in `examples/next`, which was built before (`make e2e`): the address of its page. */
export async function next() {
  const folder = fileURLToPath(new URL("../next/", EXAMPLES));
  const command = ["node_modules/next/dist/bin/next", "start", "--hostname", "127.0.0.1", "--port", "0"];
  const server = spawn(process.execPath, command, { cwd: folder, env: { ...process.env, AGENTS: SERVER, NEXT_TELEMETRY_DISABLED: "1" } });
  const ended = new Promise((resolve) => server.on("exit", resolve));
  closing.push(() => (server.kill(), ended));
  let said = "";
  for await (const part of server.stdout) {
    said += part;
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
    if (url && said.includes("Ready")) return `${url}/`;
  }
  throw new Error(`next start ended: ${said}`);
}

const VIEW = { width: 1000, height: 800 };
const [free, shared] = [[], []]; // tabs whose case is over

/** One context for all cases: what was loaded and compiled is there. Each site is another origin. */
let context = null;

async function newTab() {
  context ??= browser.newContext({ viewport: VIEW });
  const page = await (await context).newPage();
  page.setDefaultTimeout(60_000);
  page.on("request", (request) => {
    if (request.isNavigationRequest()) Object.assign(page, { requests: [], problems: [] }); // the page before is over
    const { origin, pathname } = new URL(request.url());
    if (origin !== page.origin) page.requests.push(`${request.method()} ${pathname}`);
  });
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  return page;
}

async function bring(page, { width, height } = VIEW) {
  await page.bringToFront(); // one behind another is drawn once a second
  if (page.viewportSize().width !== width) await page.setViewportSize({ width, height });
}

/** `viewport`: of another size than most have. */
export async function visit(url, { viewport } = {}) {
  const page = free.pop() ?? (await newTab());
  page.origin = new URL(url).origin;
  await bring(page, viewport);
  await page.goto(url);
  return page;
}

/** The case is over: what asks servers goes, and the next case has the tab. One that fails keeps it. */
export async function leave(page) {
  await page.evaluate(() => document.body.replaceChildren());
  (page.isShared ? shared : free).push(page);
}

const read = async (path, init) => (await fetch(SERVER + path, init)).json();
const post = (path, body) => read(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Ask for something in a chat of its own: the ids of the call that waits, and of the chat. `tools`: of the page that asks. */
export async function ask(text, { threadId = crypto.randomUUID(), tools = [] } = {}) {
  const input = { threadId, runId: crypto.randomUUID(), state: {}, tools, context: [], forwardedProps: {}, messages: [{ id: "u1", role: "user", content: text }] };
  const said = await (await fetch(SERVER, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(input) })).text();
  return { id: /apr_\w+/.exec(said)?.[0] ?? (await read(`threads/${threadId}`)).approvals[0].id, thread_id: threadId }; // a card names its call
}
export const decide = (id, body) => post(`approvals/${id}`, body);
export const record = (id) => read(`approvals/${id}`);
export const remove = (thread) => fetch(`${SERVER}threads/${thread}`, { method: "DELETE" });
export const card = ({ id }) => `<agui-confirm-card approval="${id}"></agui-confirm-card>`;
