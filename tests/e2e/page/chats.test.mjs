/** The list of chats is the server's (issue 9). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { createChats } = await page("chats.js");

const thread = (id) => ({ id, agent: "support", title: id, updated_at: "2026-11-22T12:00:00Z" });

function listed(pages, approvals = []) {
  const told = [];
  const api = {
    listThreads: async (cursor) => pages[cursor ?? "first"] ?? Promise.reject(new Error("away")),
    listApprovals: async () => approvals ?? Promise.reject(new Error("away")),
  };
  const chats = createChats({ api, onChange: (changes) => told.push(changes), onRemoved() {} });
  return { chats, pages, last: () => told.at(-1), ids: () => told.at(-1).threads.map(({ id }) => id) };
}

test("older chats follow, once each, and stay when the list is read again; what was deleted is gone", async () => {
  const list = listed({ first: { threads: [thread("c"), thread("b")], next_cursor: "2" }, 2: { threads: [thread("b"), thread("a")], next_cursor: null } });
  await list.chats.refresh();
  assert.deepEqual([list.ids(), list.last().more], [["c", "b"], true]);
  await list.chats.older();
  assert.deepEqual([list.ids(), list.last().more], [["c", "b", "a"], false]);
  list.pages.first = { threads: [thread("d"), thread("c")], next_cursor: "2" };
  list.pages[2] = { threads: [thread("a")], next_cursor: null };
  await list.chats.refresh();
  assert.deepEqual([list.ids(), list.last().more], [["d", "c", "a"], false]);
});

test("a chat that begins is listed at once, under the title it has", async () => {
  const list = listed({ first: { threads: [thread("a")], next_cursor: null } });
  await list.chats.refresh();
  list.chats.begin({ id: "new", agent: "support", title: "Hello" });
  list.chats.begin({ id: "a", agent: "support", title: "Something else" });
  assert.deepEqual(list.last().threads.map(({ title }) => title), ["a", "Hello"]);
});

test("where the list can't be had, it stays as it was", async () => {
  const list = listed({ first: { threads: [thread("a")], next_cursor: null } }, [{ id: "1", thread_id: "a" }]);
  await list.chats.refresh();
  delete list.pages.first;
  await list.chats.refresh();
  assert.deepEqual([list.ids(), list.last().approvals.length], [["a"], 1]);
});
