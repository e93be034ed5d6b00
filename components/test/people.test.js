import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fromApproval, fromCard, fromInterrupt, toApproval, toCardAnswer, toResume } from "../core/asks.js";
import { createCard } from "../core/card.js";
import { grantText, peopleText, waitsForOthers, waitsForText, whyBarred, withPeople } from "../core/people.js";
import { decisionLine } from "../core/records.js";
import { unitsFor } from "../core/units.js";
import { GERMAN, toGerman } from "../core/german.js";
import { loadStrings, serverSaid, stringsFor } from "../core/strings.js";

const row = (/** @type {object} */ more = {}) => ({ id: "apr_1", call_id: "c1", tool: "refund", arguments: { order_id: "A1", amount: 20 }, editable: ["amount"], ...more });
const people = { approvers: "finance", needs: 2, approvals: [{ by: "ben" }] };
const grants = [{ scope: "amount", in_thread: false, hours: 8, times: 3, same: ["order_id"], field: "amount", up_to: 50, total: 200 }];

test("who asks, who is waited for and who has agreed is the same by card, interrupt and list", () => {
  const text = "Asked by ada · Edited by ben · Needs 2 persons: finance · Agreed: ben";
  const said = { ...people, asker: "ada", edited_by: "ben" };
  const card = fromCard({ function_name: "refund", function_call_id: "c1", function_arguments: { amount: 20 }, .../** @type {object} */ (said) }, "card");
  const interrupt = fromInterrupt({ id: "apr_1", reason: "tool_call", toolCallId: "c1", metadata: said }, { tool: "refund" });
  for (const ask of [card, interrupt, fromApproval(row(said)), withPeople(fromApproval(row()), said)]) assert.equal(peopleText(ask?.people), text);
  assert.equal(peopleText(fromApproval(row()).people), "");
  assert.equal(peopleText({ approvers: ["ben", "cat"], needs: 1 }), "Waits for ben, cat");
  assert.equal(waitsForText({ approvers: ["ben", "cat"], needs: 2 }), "Needs 2 persons: ben, cat");
  assert.equal(peopleText({ approvers: null, needs: 1 }, GERMAN), "Wartet auf eine andere Person");
  const escalated = ["team-lead", ["ann", "bob"]];
  assert.equal(peopleText({ approvers: "finance", needs: 1, escalated }), "Waits for finance, team-lead, ann, bob");
  assert.equal(peopleText({ approvers: null, needs: 1, escalated, you: { may: ["approve"], agreed: false, why: null } }), "");
});

test("what somebody edited since is what is shown, asked about and changed further, in the unit that was asked about", () => {
  const said = { ...people, asker: "ada", edited_by: "ben", effective_arguments: { amount: 15, order_id: "A1" }, message: "Refund 20 € for order A1? (Edited by ben: see the arguments.)" };
  const interrupt = fromInterrupt({ id: "apr_1", reason: "tool_call", toolCallId: "c1", message: "Refund 20 € for order A1?", metadata: { editable: ["amount"], ...people } }, { tool: "refund", arguments: { order_id: "A1", amount: 20 } });
  const asked = { ...interrupt, arguments: { order_id: "A1", amount: 15 } }; // anew, since the edit
  for (const ask of [withPeople(interrupt, said), withPeople(asked, row(said)), fromApproval(row(said))]) {
    assert.deepEqual([ask.arguments, ask.fields.map(({ value }) => value), ask.message], [{ order_id: "A1", amount: 15 }, [15], said.message]);
    assert.equal(unitsFor(ask.arguments, ask)("amount", 15), "€");
  }
  assert.deepEqual(withPeople(interrupt, { ...said, edited_by: null }).arguments, { order_id: "A1", amount: 20 });
});

test("who can't approve is told why, and has no such buttons", () => {
  const decided = /** @type {unknown[]} */ ([]);
  const open = (/** @type {object} */ more) => createCard(fromApproval(row({ ...people, ...more })), { keeps: false, onDecide: (decision) => decided.push(decision) });
  const cases = /** @type {[object, string][]} */ ([
    [{ frozen: "Frozen: payments are checked." }, "Frozen: payments are checked."],
    [{ you: { may: ["approve", "edit", "reject"], agreed: true, why: null } }, "You agreed. It runs when everybody who is needed has."],
    [{ you: { may: ["reject"], agreed: false, why: "Who asked can't." } }, "Who asked can't."],
  ]);
  for (const [more, why] of cases) {
    const card = open(more);
    assert.equal(whyBarred(card.state.ask), why);
    card.approve();
    card.edit();
    assert.equal(card.state.mode, "view");
    card.reject();
    assert.equal(card.state.mode, "reject", "a no is possible");
  }
  const card = open({ you: { may: ["approve"], agreed: false, why: null } });
  card.reject();
  card.edit();
  assert.equal(card.state.mode, "view");
  card.approve();
  assert.deepEqual(decided, [{ approved: true, seen: row().arguments }]);
});

test("a yes goes out with the scope that was chosen, in every way, and stays chosen where it wasn't taken", () => {
  /** @type {import("../core/types.js").Decision[]} */
  const decided = [];
  const card = createCard(fromApproval(row({ grants })), { keeps: false, onDecide: (decision) => decided.push(decision) });
  card.chooseGrant("amount");
  card.approve();
  card.reopen("Log in again.");
  card.edit();
  card.type("amount", "15");
  card.submit();
  card.reopen("no");
  assert.deepEqual([card.state.mode, card.state.texts.amount, card.state.grant], ["edit", "15", "amount"]);
  card.chooseGrant("gone");
  card.submit();
  assert.deepEqual(decided, [{ approved: true, grant: { scope: "amount" } }, { approved: true, edits: { amount: 15 }, grant: { scope: "amount" } }, { approved: true, edits: { amount: 15 } }]);
  const [yes] = decided;
  assert.ok(yes);
  const { ask } = card.state;
  for (const sent of [toApproval(ask, yes), toCardAnswer(ask, yes), toResume(ask, yes).payload]) assert.deepEqual(sent?.grant, { scope: "amount" });
});

test("what was being edited can't be approved once it is frozen, or the person has agreed elsewhere; it stays typed", () => {
  const decided = /** @type {unknown[]} */ ([]);
  const you = { may: ["approve", "edit"], agreed: false, why: null };
  const card = createCard(fromApproval(row({ ...people, you })), { keeps: false, onDecide: (decision) => decided.push(decision) });
  card.edit();
  card.type("amount", "15");
  for (const more of [{ you: { ...you, agreed: true } }, { you, frozen: "This is frozen." }]) {
    card.setAsk(fromApproval(row({ ...people, ...more })));
    assert.equal(card.submit(), false);
    assert.deepEqual([card.state.mode, card.state.texts.amount, decided], ["edit", "15", []]);
  }
  card.setAsk(fromApproval(row({ ...people, you })));
  card.submit();
  assert.deepEqual(decided, [{ approved: true, edits: { amount: 15 }, seen: row().arguments }]);
});

test("a yes, and an edit, are to what was on the card, whatever is asked by the time they are sent", () => {
  /** @type {import("../core/types.js").Decision[]} */
  const decided = [];
  const onDecide = (/** @type {import("../core/types.js").Decision} */ decision) => void decided.push(decision);
  const edited = { ...people, edited_by: "ben", effective_arguments: { order_id: "B2", amount: 15 } };
  const metadata = { tool: "refund", arguments: { order_id: "A1", amount: 20 }, editable: ["amount"], ...people };
  const plain = { tool: "refund", arguments: { order_id: "A1", amount: 20 }, editable: ["amount"] };
  const [asked, bare] = [metadata, plain].map((said) => fromInterrupt({ id: "apr_1", reason: "tool_call", toolCallId: "c1", metadata: said }));
  assert.ok(asked && bare);
  const now = withPeople(asked, edited);
  for (const [shown, before] of /** @type {const} */ ([[asked, { order_id: "A1", amount: 20 }], [withPeople(bare, people), { order_id: "A1", amount: 20 }], [now, { order_id: "B2", amount: 15 }]])) {
    const card = createCard(shown, { keeps: false, onDecide });
    card.approve();
    card.reopen("no");
    card.edit();
    card.type("amount", "7");
    card.submit();
    const [yes, edit] = decided.splice(0);
    for (const ask of [asked, now]) {
      for (const sent of [toApproval(ask, /** @type {any} */ (yes)), toCardAnswer(ask, /** @type {any} */ (yes)), toResume(ask, /** @type {any} */ (yes)).payload]) assert.deepEqual(sent?.effective_arguments, before);
      const sent = toApproval(ask, /** @type {any} */ (edit));
      assert.deepEqual([sent.effective_arguments, sent.edited_arguments], [before, { ...before, amount: 7 }]);
    }
  }
});

test("the first of two yeses closes the form, and opens the question", () => {
  const card = createCard(fromApproval(row(people)), { keeps: false });
  card.edit();
  card.type("amount", "15");
  card.submit();
  card.reopen("");
  assert.deepEqual([card.state.mode, card.state.refused], ["view", null]);
});

test("scopes and ways in words", () => {
  const [offer] = grants;
  assert.ok(offer);
  assert.equal(grantText(offer), "same order id, Amount up to 50, 200 in all, for 8 h, 3 times");
  assert.equal(grantText({ scope: "all", same: null, in_thread: true, hours: 24 }, GERMAN), "in diesem Chat, gleich: alle Angaben, für 1 d");
  const line = (/** @type {object} */ decision, more = {}) => decisionLine({ state: "done", decision: { approved: true, ...decision }, ...more });
  assert.equal(line({ way: "rule", by: "" }), "Approved, by the gate's rule");
  assert.equal(line({ way: "grant", by: "ben", grant: "gr_1" }), "Approved by ben, by a standing grant");
  assert.equal(line({ way: "http", by: "ben", grant: "gr_1" }), "Approved by ben, outside the chat, and not asked again");
  assert.equal(line({ way: "code", by: "job" }), "Approved by job, by a program");
  assert.equal(line({ way: "http", by: "cat" }, { approvals: [{ by: "ben" }, { by: "cat" }] }), "Approved by ben, cat, outside the chat");
  assert.equal(decisionLine({ state: "done", decision: { approved: true, way: "rule" } }, { strings: GERMAN }), "Freigegeben, durch die Regel");
});

test("a deputy, a colleague and an emergency in words", () => {
  const you = { may: ["approve"], agreed: false, why: null, deputy_of: { id: "ann", until: "2031-12-15T12:00:00Z" } };
  const said = peopleText({ approvers: "finance", needs: 1, handed_to: { to: "cat", by: "ben" }, you });
  assert.match(said, /^Waits for finance · Handed to cat by ben · You decide for ann, who is away until \d\d:\d\d on 15 Dec 2031$/);
  assert.match(peopleText({ you }, GERMAN), /^Sie entscheiden für ann, bis .* abwesend$/);
  const line = (/** @type {object} */ decision) => decisionLine({ state: "done", decision: { approved: true, way: "http", ...decision } });
  assert.equal(line({ by: "dan", deputy_of: "ann" }), "Approved by dan, as deputy of ann, outside the chat");
  assert.equal(line({ by: "zoe", break_glass: true }), "Approved by zoe, in an emergency, outside the chat");
});

test("a list says whom all of it waits for, where its reader can approve none of it", () => {
  const you = { may: ["reject"], agreed: false, why: null };
  const theirs = { approvers: "finance", needs: 1, you };
  assert.equal(waitsForOthers([]), null);
  assert.equal(waitsForOthers([theirs, {}]), null, "one is the reader's");
  assert.equal(waitsForOthers([theirs, theirs]), "Waits for finance");
  assert.equal(waitsForOthers([theirs, { ...theirs, approvers: ["ben"] }]), "Waits for others");
  assert.equal(waitsForOthers([theirs], GERMAN), "Wartet auf finance");
});

test("on a German page the server's sentences are German: by their words, else by their code, else as they are", async () => {
  await loadStrings("de");
  const german = stringsFor("de");
  const sentences = ["core/agreement.py", "extras/people/hand_to.py", "extras/people/approvers.py"].flatMap((file) => {
    const text = readFileSync(new URL(`../../server/agui_gate/${file}`, import.meta.url), "utf8");
    return [...text.matchAll(/MayNotDecide\(f?"([^"]+)"\)/g)].map(([, said = ""]) => said.replace(/\{[^}]+\}/g, "300"));
  });
  assert.ok(sentences.length > 15);
  for (const said of sentences) assert.notEqual(serverSaid(said, "not_allowed", german), said);
  const own = sentences.filter((said) => toGerman(said, "not_allowed") !== toGerman("?", "not_allowed"));
  assert.ok(own.length > 12, "most have a sentence of their own");
  assert.equal(serverSaid("You can't approve this: it waits for finance.", "not_allowed", german), "Sie können das nicht freigeben: Es wartet auf finance.");
  assert.equal(whyBarred({ ...fromApproval(row()), people: { frozen: "This is frozen: Payments are being checked." } }, german), "Das ist eingefroren: Payments are being checked.");
  assert.equal(serverSaid("Nobody knows this.", "thread_busy", german), toGerman("", "thread_busy"));
  assert.equal(serverSaid("Nobody knows this.", "brand_new", german), "Nobody knows this.");
  assert.equal(serverSaid("You can't reject this.", "not_allowed", stringsFor("en")), "You can't reject this.");
});

test("on a German page it is German why an edit wasn't taken, and why the conversation doesn't go on", async () => {
  await loadStrings("de");
  const german = stringsFor("de");
  const files = ["approvals/answer_validation.py", "approvals/edits.py", "approvals/out_of_band.py", "stores/sql/leases.py"];
  const text = files.map((file) => readFileSync(new URL(`../../server/agui_gate/${file}`, import.meta.url), "utf8")).join("\n");
  const said = [...text.matchAll(/(?:(?:ApprovalRefused|ThreadBusy)\(|not_continued=|": )f?"([A-Z{][^"]+)"/g)].map(([, sentence = ""]) => sentence.replace("{_ASK_AGAIN}", "Nothing was run.").replace(/\{[^}]+\}/g, "this"));
  assert.ok(said.length > 12, said.join("\n"));
  for (const sentence of said) assert.notEqual(serverSaid(sentence, undefined, german), sentence);
  assert.equal(serverSaid("The edit was refused: these arguments may not be edited: to.", undefined, german), "Das darf nicht geändert werden: to.");
});
