// What people do who decide together, by the keyboard alone, on a desktop and on a phone, in light and dark: at `/inbox`,
// `/audit` and `/admin`, and what who asked sees of it, at `/` and `/copilot/`. Each case is a tenant of its own, and what
// came of it is what the server says.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { becomes, eventually } from "../eventually.mjs";
import { DEVICES, place, sits } from "./keyboard.mjs";
import { SERVER } from "./site.mjs";

/** A tenant: what its people ask the server, besides the pages. */
function tenantOf(name) {
  const token = (who) => `${who}@${name}`;
  const headers = (who) => ({ authorization: `Bearer ${token(who)}`, "content-type": "application/json" });
  const get = async (who, path) => (await fetch(SERVER + path, { headers: headers(who) })).json();
  const post = async (who, path, body) => (await fetch(SERVER + path, { method: "POST", headers: headers(who), body: JSON.stringify(body) })).text();
  const record = (id) => get("ada", `approvals/${id}`);
  return {
    token, get, post, record,
    /** Ask for something without a page: the record that waits. */
    async ask(text, who = "ada") {
      const threadId = crypto.randomUUID();
      await post(who, "", { threadId, runId: crypto.randomUUID(), state: {}, tools: [], context: [], forwardedProps: {}, messages: [{ id: crypto.randomUUID(), role: "user", content: text }] });
      return (await get(who, `threads/${threadId}`)).approvals[0];
    },
    /** The newest call that `who` asked for. */
    newest: async (who) => (await get(who, "approvals?state=all")).approvals.at(-1),
    /** What the trail says of a call, in order: `agreed ben`. */
    told: async (id) => (await get("amy", `audit?format=json&approval=${id}`)).entries.reverse().map(({ kind, by }) => `${kind} ${by}`),
    becomes: (id, state) => eventually(async () => {
      const now = await record(id);
      assert.equal(now.state, state);
      return now;
    }),
  };
}

/** `ada` asks for something in the built-in page, and has it before her in both pages; the record that waits. */
async function asks({ is, tenant, style }, text) {
  const ada = await is("ada", `?hitl=${style}`);
  await ada.page.locator("#welcome:not([hidden]) .welcome-mark").waitFor(); // by then the page has put the focus where it wants it
  await ada.isAt("Message");
  await ada.type(text);
  await ada.press("Enter");
  await ada.page.locator("agui-confirm-card").waitFor();
  const [asked] = (await tenant.get("ada", "approvals")).approvals;
  return { ada, asked, copilot: await is("ada", `copilot/?hitl=${style}#t=${encodeURIComponent(asked.thread_id)}`) };
}

/** The line that waits first in the inbox of `who` is open. */
async function opensLine({ is }, who, path = "inbox") {
  const page = await is(who, path);
  await page.page.locator("agui-inbox .line-button").first().waitFor();
  await page.press("j");
  await page.press("Enter");
  await page.page.locator("agui-inbox agui-confirm-card").first().waitFor();
  return page;
}

const FEATURES = {
  async "a second person"(cell) {
    const { tenant, is } = cell;
    const { ada, asked, copilot } = await asks(cell, "refund A1 20");
    await ada.sees("You asked for this, so you can't approve it. Somebody else has to.");
    for (const [{ page }, place, text] of [
      [ada, "#threads .group-button span", "Waiting for others (1)"],
      [ada, ".thread .thread-mark", "Waiting for others: "],
      [copilot, ".inbox-button", "Needs 2 persons: finance (1)"],
      [copilot, ".thread .thread-waits", "Needs 2 persons: finance"],
    ])
      await becomes(() => page.locator(place).first().textContent(), text); // on a phone the chats are in a drawer
    await ada.press("Escape");
    const ben = await opensLine(cell, "ben");
    await ben.to("Approve");
    await ben.looks("second-open");
    await ben.press("Enter");
    await ben.sees("You agreed. It runs when everybody who is needed has.");
    await ben.looks("second-agreed");
    for (const page of [ada, copilot]) await page.sees("Needs 2 persons: finance · Agreed: ben");
    await ada.looks("second-waits");
    await copilot.press("Escape");
    await copilot.looks("second-waits-copilot");
    assert.deepEqual((await tenant.record(asked.id)).approvals.map(({ by }) => by), ["ben"]);
    const cat = await opensLine(cell, "cat");
    await cat.sees("Agreed: ben");
    await cat.press("a");
    await cat.sees(/Approved by ben, cat/);
    await cat.looks("second-approved");
    await tenant.becomes(asked.id, "done");
    assert.deepEqual((await tenant.told(asked.id)).filter((line) => /agreed|approved/.test(line)), ["agreed ben", "approved cat"]);
    for (const page of [ada, copilot]) await page.sees(/Approved by ben, cat/);
  },

  async "an edit by the first approver"(cell) {
    const { tenant, is } = cell;
    const { ada, asked, copilot } = await asks(cell, "refund B1 20");
    const ben = await is("ben", `inbox#${asked.id}`);
    await ben.page.locator(".linked agui-confirm-card").getByRole("button", { name: "Edit" }).waitFor();
    await ben.to("Edit");
    await ben.press("Enter");
    await ben.type("15");
    assert.equal(await ben.at(), "Amount (€)");
    await ben.looks("edit-open");
    await ben.to("Approve with changes");
    await ben.press("Enter");
    await ben.sees("You agreed. It runs when everybody who is needed has.");
    await ben.looks("edit-agreed");
    for (const page of [ada, copilot]) {
      await page.sees(/Edited by ben/);
      await page.sees("15 €");
      await page.press("Escape");
    }
    await ada.looks("edit-waits");
    await copilot.looks("edit-waits-copilot");
    const cat = await opensLine(cell, "cat");
    await cat.sees("15 €");
    await cat.sees("Refund 20 € for order B1? (Edited by ben: see the arguments.)");
    await cat.looks("edit-second");
    await cat.to("Approve");
    await cat.press("Space"); // who edited isn't among the two
    await cat.sees("You agreed.");
    assert.equal((await tenant.record(asked.id)).state, "pending");
    const eve = await opensLine(cell, "eve");
    await eve.press("a");
    await eve.sees(/^Approved by ben, cat, eve/);
    const { effective_arguments: ran } = await tenant.becomes(asked.id, "done");
    assert.equal(ran.amount, 15);
    for (const page of [ada, copilot]) await page.sees(/^Approved by ben, cat, eve/);
    await copilot.looks("edit-done-copilot", { isAnywhere: false });
  },

  async "a grant and its end"(cell) {
    const { tenant } = cell;
    const { ada, asked, copilot } = await asks(cell, "pay_out Ida 20");
    const ben = await opensLine(cell, "ben");
    await ben.to("And from now on");
    await ben.press("ArrowDown", "ArrowDown");
    await ben.looks("grant-offer");
    await ben.to("Approve");
    await ben.press("Enter");
    await ben.sees(/Approved by ben .* and not asked again/);
    await tenant.becomes(asked.id, "done");
    const [grant] = (await tenant.get("ben", "grants")).grants;
    assert.deepEqual([grant.by, grant.field, grant.up_to], ["ben", "amount", 50]);
    for (const page of [ada, copilot]) await page.sees(/Approved by ben/);
    await ada.page.locator('#rows[aria-busy="false"]').waitFor();
    await ada.isAt("Message");
    await ada.type("pay_out Ida 30");
    await ada.press("Enter");
    await ada.sees(/by a standing grant/);
    await ada.looks("grant-used");
    await copilot.page.reload(); // while nothing waits it looks seldom
    await copilot.sees(/by a standing grant/);
    await copilot.looks("grant-used-copilot", { isAnywhere: false });
    assert.equal(await ada.page.locator("agui-confirm-card").count(), 0);
    await ben.to("Grants", "Shift+Tab");
    await ben.press("Enter");
    await ben.sees(/of 200 so far/);
    await ben.to("Revoke");
    await ben.looks("grants");
    await ben.press("Enter");
    assert.equal(await ben.at(), "Cancel");
    await ben.to("Revoke", "Shift+Tab");
    await ben.looks("grant-revoke");
    await ben.press("Enter");
    await ben.sees("Nothing is granted.");
    await ben.sees("Revoked.");
    assert.deepEqual((await tenant.get("ben", "grants")).grants, []);
    await ada.isAt("Message");
    await ada.type("pay_out Ida 5");
    await ada.press("Enter");
    await ada.sees("You asked for this, so you can't approve it. Somebody else has to.");
    assert.deepEqual((await tenant.get("ada", "approvals")).approvals.map(({ state, arguments: { amount } }) => [state, amount]), [["pending", 5]]);
  },

  async "a deputy"(cell) {
    const { tenant, is } = cell;
    const asked = await tenant.ask("refund F1 20");
    const ben = await is("ben", "inbox");
    await ben.to("Deputies");
    await ben.press("Enter");
    await ben.sees("Nobody decides in your place, and you in nobody's.");
    await ben.to("Name a deputy …");
    await ben.press("Enter");
    await ben.type("dan");
    await ben.to("Until (at most 92 days from now)");
    const until = new Date(Date.now() + 3 * 86_400_000).toISOString();
    const [year, month, day] = until.slice(0, 10).split("-");
    await ben.press(...month, ...day, ...year, ..."1030", "p");
    await ben.looks("deputy-form");
    await ben.press("Enter");
    await ben.sees("dan is named as deputy.");
    await ben.sees("dan decides in the place of ben");
    await ben.looks("deputy-named");
    const [named] = (await tenant.get("ben", "deputies")).deputies;
    assert.deepEqual([named.deputy, named.absent, named.until.slice(0, 10)], ["dan", "ben", until.slice(0, 10)]);
    const dan = await opensLine(cell, "dan");
    await dan.sees(/You decide in the place of ben until/);
    await dan.sees(/You decide for ben, who is away until/);
    await dan.to("Approve");
    await dan.looks("deputy-open");
    await dan.press("Enter");
    await dan.sees("You agreed.");
    assert.deepEqual((await tenant.record(asked.id)).approvals.map(({ by, deputy_of }) => [by, deputy_of]), [["dan", "ben"]]);
    await ben.to("End …", "Shift+Tab");
    await ben.press("Enter");
    await ben.to("End it", "Shift+Tab");
    await ben.looks("deputy-end");
    await ben.press("Enter");
    await ben.sees("Nobody decides in your place, and you in nobody's.");
    await ben.looks("deputy-ended");
    assert.deepEqual((await tenant.get("ben", "deputies")).deputies, []);
  },

  async "a freeze"(cell) {
    const { tenant, is } = cell;
    const { ada, asked, copilot } = await asks(cell, "refund H1 20");
    const ben = await opensLine(cell, "ben");
    const oli = await is("oli", "admin");
    await oli.sees("Frozen");
    await oli.to("Freeze …");
    await oli.press("Enter");
    await oli.type("refund");
    await oli.looks("freeze-form");
    await oli.to("Reason (kept in the audit trail)");
    await oli.type("Payments are being checked.");
    await oli.press("Enter");
    await oli.sees("Approvals are frozen.");
    await oli.looks("freeze");
    assert.deepEqual((await tenant.get("oli", "ops/freezes")).freezes.map(({ tool, reason }) => [tool, reason]), [["refund", "Payments are being checked."]]);
    for (const page of [ben, ada, copilot]) await page.sees(/Payments are being checked\./);
    await ben.to("Reject");
    await ben.looks("frozen");
    await ada.looks("frozen-asker", { isAnywhere: false });
    assert.equal(await ben.page.getByRole("button", { name: "Approve" }).count(), 0);
    assert.match((await tenant.record(asked.id)).frozen, /Payments are being checked/);
    await oli.to("Lift …", "Shift+Tab");
    await oli.press("Enter");
    await oli.type("They are in order.");
    await oli.looks("freeze-lift");
    await oli.press("Enter");
    await oli.sees(/^Lifted\.$/);
    assert.deepEqual((await tenant.get("oli", "ops/freezes")).freezes, []);
    await ben.page.reload();
    await ben.page.locator("agui-inbox .line-button").first().waitFor();
    await ben.press("j", "Enter");
    await ben.page.getByRole("button", { name: "Approve" }).waitFor();
    await ben.press("a");
    await ben.sees("You agreed.");
    assert.deepEqual((await tenant.record(asked.id)).approvals.map(({ by }) => by), ["ben"]);
    await ada.isAt("Message");
    await ada.press("Escape", "r");
    await ada.type("not any more");
    await ada.press("Enter");
    await tenant.becomes(asked.id, "rejected");
    await ada.sees(/Rejected by ada/);
    await ada.looks("frozen-rejected");
  },

  async "the inbox"(cell) {
    const { tenant, is } = cell;
    const asked = [];
    for (let number = 1; number < 9; number += 1) asked.push(await tenant.ask(`refund N${number} ${number}`));
    const [first, second, third, , fifth] = asked;
    const mine = await tenant.ask("send_mail anna Hello", "cat");
    const cat = await is("cat", "inbox");
    await cat.sees("Waiting (9)");
    await cat.press("/");
    await cat.type("n5");
    await cat.page.locator("agui-inbox .item").nth(1).waitFor({ state: "detached" });
    await cat.press("Escape");
    assert.equal(await cat.page.locator("agui-inbox .search").inputValue(), "n5", "what the list is of");
    await cat.press("h");
    await cat.type("eve");
    await cat.looks("inbox-hand-to");
    await cat.press("Enter");
    await cat.sees("Handed to eve.");
    assert.match(await cat.at(), /order N5/, "back at the line");
    assert.equal(await cat.page.locator("agui-inbox .detail").count(), 0, "which is as it was");
    assert.deepEqual((await tenant.record(fifth.id)).handed_to, { to: "eve", by: "cat" });
    await cat.press("/");
    await cat.press("Control+a", "Backspace");
    await cat.to("Whose", "Shift+Tab");
    await cat.press("ArrowDown");
    await cat.sees("Send mail");
    await cat.looks("inbox-filter");
    await cat.press("ArrowUp");
    for (const number of [1, 2]) {
      await cat.to(new RegExp(`^Choose: .* N${number}\\?`));
      await cat.press("Space");
    }
    await cat.to("Reject 2 …");
    await cat.press("Enter");
    await cat.type("not now"); // into the reason
    await cat.looks("inbox-reject");
    await cat.press("Enter");
    await cat.sees("2 done.");
    for (const { id } of [first, second]) assert.deepEqual((({ state, decision: { by, reason } }) => [state, by, reason])(await tenant.record(id)), ["rejected", "cat", "not now"]);
    assert.equal((await tenant.record(third.id)).state, "pending");
    await cat.isAt("Decided", "Shift+Tab");
    await cat.press("Enter");
    await cat.sees(/order N2\?/);
    await cat.looks("inbox-decided");
    await tenant.post("cat", `approvals/${mine.id}`, { approved: false });
  },

  async "the story of a call"(cell) {
    const { tenant, is } = cell;
    const asked = await tenant.ask("refund J1 20");
    await tenant.post("ben", `approvals/${asked.id}`, { approved: true, edited_arguments: { order_id: "J1", amount: 15 } });
    await tenant.post("cat", `approvals/${asked.id}`, { approved: true });
    await tenant.post("cat", `approvals/${asked.id}`, { approved: false, reason: "She has it already." });
    await tenant.ask("pay_out Ida 20");
    const amy = await is("amy", "audit");
    await amy.sees(/asked/);
    await amy.to("Tool");
    await amy.looks("story-list");
    await amy.type("refund");
    await amy.leaves("Enter");
    await amy.sees(/rejected it/);
    await amy.to(`The story of ${asked.id}`);
    await amy.leaves("Enter");
    await amy.page.getByRole("heading", { name: `The story of ${asked.id}` }).waitFor();
    await amy.sees(/^cat.* rejected it .*“She has it already\.”/);
    await amy.to("Inbox");
    await amy.looks("story");
    assert.deepEqual((await tenant.told(asked.id)).filter((line) => /agreed|rejected/.test(line)), ["agreed ben", "agreed cat", "rejected cat"]);
  },
};

describe("by the keyboard alone", { concurrency: 4 }, () => {
  for (const device of Object.keys(DEVICES))
    for (const look of ["light", "dark"])
      describe(`${device}, ${look}`, { concurrency: 1 }, async () => {
        const [asker, others] = [await place(device, look), await place(device, look)];
        after(() => Promise.all([asker, others].map(({ context }) => context.close())));
        for (const [name, feature] of Object.entries(FEATURES))
          test(name, async () => {
            const tenant = tenantOf(`${name} ${asker.name}`.replaceAll(" ", "-"));
            const people = [];
            const is = async (who, path) => {
              people.push(await sits(who === "ada" ? asker : others, tenant.token(who), path));
              return people.at(-1);
            };
            try {
              await feature({ tenant, is, style: look === "light" ? "interrupt" : "card" });
              assert.deepEqual(people.flatMap(({ problems }) => problems), []);
            } finally {
              for (const { page } of people) await page.close();
            }
          });
      });
});
