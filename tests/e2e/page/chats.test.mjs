/** The list of chats is the server's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { createChats } = await page("chats.js");
const { createUnreadChats } = await page("unread.js");

const thread = (id) => ({ id, agent: "support", title: id, updated_at: "2026-11-22T12:00:00Z" });

function listed(pages, approvals = [], current = null) {
  const told = [];
  const api = {
    listThreads: async (cursor) => pages[cursor ?? "first"] ?? Promise.reject(new Error("away")),
    listApprovals: async () => ({ approvals, more: false }),
  };
  let remembered = [];
  const news = createUnreadChats({ read: () => remembered, write: (ids) => (remembered = ids) });
  const chats = createChats({ api, news, current: () => current, onChange: (changes) => told.push(changes), onRemoved() {} });
  return { chats, pages, api, last: () => told.at(-1), ids: () => told.at(-1).threads.map(({ id }) => id), marks: () => told.at(-1).marks };
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

test("whose roles open no chats hears of it, and what waits for their decision is listed", async () => {
  const forbidden = Object.assign(new Error("Your roles don't allow this request."), { code: "forbidden" });
  const [told, seen] = [[], []];
  const api = { listThreads: () => Promise.reject(forbidden), listApprovals: async () => ({ approvals: [{ id: "1", thread_id: "a" }], more: false }) };
  const chats = createChats({ api, news: { marks: () => ({}) }, current: () => null, onChange: ({ approvals }) => seen.push(approvals.length), onRemoved() {}, onForbidden: (error) => told.push(error) });
  await chats.refresh();
  assert.deepEqual([told, seen], [[forbidden], [1]]);
});

test("where the list can't be had, it stays as it was", async () => {
  const list = listed({ first: { threads: [thread("a")], next_cursor: null } }, [{ id: "1", thread_id: "a" }]);
  await list.chats.refresh();
  delete list.pages.first;
  await list.chats.refresh();
  assert.deepEqual([list.ids(), list.last().approvals.length], [["a"], 1]);
});

// --- at work, and new (T6) ---

const running = (id) => ({ ...thread(id), run: { key: `r-${id}`, status: "running" } });

test("a chat that goes on after a decision is at work, and then has news until it is read", async () => {
  const approval = { id: "apr-1", thread_id: "b" };
  const list = listed({ first: { threads: [thread("a"), running("b")], next_cursor: null } }, [approval], "a");
  await list.chats.decided(approval, { key: "r-b" });
  assert.deepEqual(list.marks(), { a: null, b: "working" });
  list.pages.first = { threads: [thread("b"), thread("a")], next_cursor: null };
  await list.chats.refresh();
  assert.deepEqual(list.marks(), { b: "new", a: null });
});

test("a run that was over before the list was read has news too; the open chat has none", async () => {
  const list = listed({ first: { threads: [thread("a"), thread("b")], next_cursor: null } }, [], "a");
  await list.chats.decided({ id: "apr-1", thread_id: "a" }, { key: "r-a" });
  await list.chats.decided({ id: "apr-2", thread_id: "b" }, { key: "r-b" });
  assert.deepEqual(list.marks(), { a: null, b: "new" });
});

test("what is decided waits no more, whatever an older look at the list brings", async () => {
  const approval = { id: "apr-1", thread_id: "a" };
  const list = listed({ first: { threads: [thread("a")], next_cursor: null } }, [approval]);
  let answer;
  list.api.listApprovals = () => new Promise((resolve) => (answer = resolve));
  const early = list.chats.refresh();
  list.api.listApprovals = async () => ({ approvals: [], more: false });
  await list.chats.decided(approval, null);
  answer({ approvals: [approval], more: false });
  await early;
  assert.deepEqual(list.last().approvals, []);
});

test("who looks again and again is told that the server doesn't answer", async () => {
  const list = listed({});
  await assert.rejects(list.chats.look());
  list.api.listApprovals = async () => Promise.reject(new Error("away"));
  await assert.rejects(list.chats.look());
});
