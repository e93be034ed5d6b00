/** The page of the audit trail: a list, newest first; or, with `?approval=…`, the story of one call, oldest first. */

const TOKEN = "agui-gate.token";
const THEME = "agui-gate.theme";
const $ = (id) => document.getElementById(id);

/** What this browser remembers; "" where storage is switched off. The token is the built-in page's. */
function recall(store, key) {
  try {
    return window[store].getItem(key) ?? "";
  } catch {
    return "";
  }
}

let token = recall("sessionStorage", TOKEN);
const theme = recall("localStorage", THEME);
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

const query = new URLSearchParams(location.search);
query.delete("format");
const approval = query.get("approval");
const TONES = {
  approved: "good", agreed: "good", done: "good",
  rejected: "bad", failed: "bad", refused: "bad", cancelled: "bad",
  asked: "wait", shown: "wait", unknown: "wait", expired: "wait", frozen: "wait", revoked: "wait",
};

async function ask(more = {}) {
  const wanted = new URLSearchParams({ ...Object.fromEntries(query), ...more });
  const headers = { Accept: "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  const response = await fetch(`audit?${wanted}`, { headers });
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  const error = new Error(body?.error?.message ?? `The server answered ${response.status}.`);
  error.status = response.status;
  throw error;
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const inWords = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Names and values; those that differ from `before` stand out. */
function details(pairs, before = null) {
  const list = element("dl");
  for (const [name, value] of pairs) {
    const changed = before !== null && JSON.stringify(before[name]) !== JSON.stringify(value);
    list.append(element("dt", { textContent: name }), element("dd", { textContent: inWords(value), className: changed ? "changed" : "" }));
  }
  return list;
}

function facts(entry) {
  const found = [];
  const told = (name, value) => value !== null && value !== "" && found.push([name, value]);
  if (entry.kind === "asked") {
    told("question", entry.message);
    told("model", [entry.provider, entry.model].filter(Boolean).join(" · "));
    told("model’s response", entry.response_id);
    told("tokens", entry.input_tokens === null ? "" : `${entry.input_tokens} in, ${entry.output_tokens ?? 0} out`);
    told("schema of the tool", entry.schema);
  }
  told("result", entry.result);
  if (["approved", "agreed", "rejected"].includes(entry.kind)) {
    told("login", [entry.acr, ...entry.amr].filter(Boolean).join(", "));
    told("logged in at", entry.auth_time === null ? "" : new Date(entry.auth_time * 1000).toLocaleString());
    told("token", entry.jti);
  }
  return found;
}

function row(entry) {
  const when = element("time", { dateTime: entry.at, textContent: new Date(entry.at).toLocaleString() });
  const line = element("p", { textContent: entry.text });
  const item = element("li", {}, when, line);
  item.dataset.tone = TONES[entry.kind] ?? "";
  if (!approval && entry.approval_id) {
    const link = element("a", { href: `audit?approval=${encodeURIComponent(entry.approval_id)}`, textContent: `The story of ${entry.approval_id}` });
    const about = [entry.tool, entry.message].filter(Boolean).map((said) => `${said} · `); // "approved it" needs an it
    item.append(element("p", { className: "call" }, ...about, link));
  }
  if (approval && entry.kind === "asked" && entry.arguments) item.append(details(Object.entries(entry.arguments)));
  const changed = ["approved", "agreed"].includes(entry.kind) ? entry.edited.length > 0 : entry.kind === "claimed";
  if (approval && changed && entry.effective_arguments) {
    item.append(details(Object.entries(entry.effective_arguments), entry.arguments));
  }
  const more = approval ? facts(entry) : [];
  if (more.length > 0) item.append(details(more));
  return item;
}

let cursor = null;

async function show() {
  try {
    const body = await ask(cursor ? { cursor } : { limit: "50" });
    cursor = body.next_cursor;
    if (approval) while (cursor) {
      const next = await ask({ cursor });
      body.entries.push(...next.entries);
      cursor = next.next_cursor;
    }
    const entries = approval ? body.entries.reverse() : body.entries;
    const rows = entries.map(row);
    const held = document.activeElement;
    $("story").append(...rows);
    $("sign-in").hidden = true;
    $("more").hidden = !cursor;
    if (!held.checkVisibility()) (rows[0]?.querySelector("a") ?? $("inbox")).focus(); // where one goes on
    $("forms").hidden = Boolean(token); // a link can't send a token
    const number = $("story").children.length;
    $("status").textContent = number === 0 ? "Nothing here, or nothing that you may read." : `${number} ${number === 1 ? "entry" : "entries"}${cursor ? ", and older ones" : ""}`;
  } catch (error) {
    $("sign-in").hidden = error.status !== 401;
    $("status").textContent = error.message;
  }
}

for (const field of $("filters").elements) if (field.name && query.has(field.name)) field.value = query.get(field.name);
for (const id of ["csv", "jsonl"]) $(id).href = `audit?${new URLSearchParams({ ...Object.fromEntries(query), format: id })}`;
if (approval) {
  $("title").textContent = `The story of ${approval}`;
  document.title = $("title").textContent;
  $("filters").hidden = true;
}

$("filters").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = [...new FormData($("filters"))].filter(([, value]) => value !== "");
  location.search = new URLSearchParams(given).toString();
});
$("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value;
  try {
    sessionStorage.setItem(TOKEN, token);
  } catch {
    // Storage is switched off: the token is for this page alone.
  }
  show();
});
$("more").addEventListener("click", show);
show();
