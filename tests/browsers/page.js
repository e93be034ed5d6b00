// What a person does with the components, done by the page itself, and what it sees then: any browser can open it.

const SERVER = new URL(document.querySelector("script").src).origin + "/";
const SECONDS = 20;
const seen = [];

const post = (url, body) => fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** The record of a call that has ended. */
async function ended(id) {
  const record = await (await fetch(`${SERVER}approvals/${id}`)).json();
  return !["pending", "claimed"].includes(record.state) && record;
}

/** Ask for something in a chat of its own: the record that waits. */
async function ask(text) {
  const threadId = `browser-${crypto.randomUUID()}`;
  const messages = [{ id: "u1", role: "user", content: text }];
  const run = { threadId, runId: crypto.randomUUID(), state: {}, tools: [], context: [], forwardedProps: {}, messages };
  await (await post(SERVER, run)).text();
  return (await (await fetch(`${SERVER}threads/${threadId}`)).json()).approvals[0];
}

/** All elements within `root`, and within what hangs in the shadows of these. */
function* within(root) {
  if (root.shadowRoot) yield* within(root.shadowRoot);
  for (const element of root.querySelectorAll("*")) {
    yield element;
    if (element.shadowRoot) yield* within(element.shadowRoot);
  }
}

const text = (root) => [...within(root)].filter((one) => one.checkVisibility?.() ?? true).map((one) => [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("")).join(" ");

/** What `find` finds, once it does. */
async function until(what, find) {
  const end = Date.now() + SECONDS * 1000;
  for (;;) {
    const found = await find();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited for ${what}; the page says: ${text(document).replace(/\s+/g, " ").slice(0, 2000)}`);
    await new Promise((done) => requestAnimationFrame(done));
  }
}

const button = (root, name) => until(`the button ${name}`, () => [...within(root)].find((one) => one.localName === "button" && (one.ariaLabel ?? one.textContent).replace(/\s+/g, " ").trim().startsWith(name) && !one.disabled));

async function type(root, label, value) {
  const input = await until(`the field ${label}`, () => {
    const named = [...within(root)].find((one) => one.localName === "label" && one.textContent.includes(label));
    return named && named.getRootNode().getElementById(named.htmlFor);
  });
  input.focus();
  input.value = value;
  input.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
  return input;
}

const closed = (card) => until("the end of the card", () => card.getAttribute("mode") === "closed");

function show(...asked) {
  const gate = document.createElement("agui-gate");
  gate.setAttribute("base", SERVER);
  gate.setAttribute("send", "");
  for (const { id } of asked) {
    const card = document.createElement("agui-confirm-card");
    card.setAttribute("approval", id);
    gate.append(card);
  }
  gate.append(document.createElement("agui-inbox"));
  document.querySelector("main").replaceChildren(gate);
  return gate;
}

async function decide() {
  const [first, second] = [await ask("Refund 20 euros of order 1003"), await ask("Refund 20 euros of order 1001")];
  const gate = show(first, second);
  const [card, other] = gate.querySelectorAll("agui-confirm-card");

  (await button(card, "Edit")).click();
  const amount = await type(card, "Amount", "12");
  if (amount.getRootNode().activeElement !== amount) throw new Error("the field has lost the focus");
  seen.push("edit");
  (await button(card, "Approve with changes")).click();
  await closed(card);
  const { effective_arguments: ran } = await until("its result", () => ended(first.id));
  if (ran.amount !== 12) throw new Error(`it ran with ${JSON.stringify(ran)}`);
  seen.push("approve");

  (await button(other, "Reject")).click();
  await type(other, "Reason", "too much");
  (await button(other, "Reject")).click();
  await closed(other);
  const { state, decision } = await until("its end", () => ended(second.id));
  if (state !== "rejected" || decision.reason !== "too much") throw new Error(`it is ${state}`);
  seen.push("reject");
}

async function follow() {
  const inbox = document.querySelector("agui-inbox");
  const third = await ask("Email Ben that his parcel is on its way");
  const line = await until("a new line of the inbox", () => [...within(inbox)].find((one) => one.dataset.thread === third.thread_id));
  seen.push("live");
  await post(`${SERVER}approvals/${third.id}`, { approved: false });
  await until("the end of the line", () => [...within(inbox)].some((one) => one.dataset.thread === third.thread_id && one.dataset.state === "rejected"));
  if (!line.getBoundingClientRect().width) throw new Error("the line has no width");
  seen.push("decided elsewhere");
}

function look() {
  const card = document.querySelector("agui-confirm-card");
  const box = [...within(card)].find((one) => one.part?.contains("card"));
  const { borderTopStyle, borderTopWidth } = getComputedStyle(box);
  if (borderTopStyle !== "solid" || borderTopWidth === "0px") throw new Error("the card has no styles");
  seen.push("styles");
}

const problems = [];
addEventListener("error", ({ message }) => problems.push(message));
addEventListener("unhandledrejection", ({ reason }) => problems.push(String(reason)));
try {
  await decide();
  await follow();
  look();
} catch (error) {
  problems.push(`${error}`);
}
await post("/report", { agent: navigator.userAgent, seen, problems });
