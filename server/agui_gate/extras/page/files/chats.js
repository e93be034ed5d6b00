/** The list of the person's chats: loaded from the server, renamed, deleted; and what waits in them. */

import { reveal } from "./components/core/reveal.js";
import { confirm, inform, prompt } from "./dialogs.js";

const MAX_TITLE = 200; // characters, as the server has it

/**
 * `onChange({threads, marks, approvals, moreApprovals, more})` is called with what is known; `onRemoved(id)` when a chat
 * is gone, `onForbidden(error)` where the person's roles open no chats. `news` (unread.js) knows where somebody is at work; `current()` is the id of the chat that the person looks at.
 * `announce(text)` tells those who listen.
 */
export function createChats({ api, news, current, onChange, onRemoved, onForbidden = () => {}, announce = () => {} }) {
  let threads = [];
  let waiting = { approvals: [], more: false };
  let more = false;
  let pages = 1; // as many as the person has asked for
  let latest = 0; // of the looks at the list: what an earlier one finds is old by then

  const tell = () => onChange({ threads, marks: news.marks(threads, current()), approvals: waiting.approvals, moreApprovals: waiting.more, more });
  const others = (known, id) => known.filter((thread) => thread.id !== id);

  /** The list is a convenience: where it can't be had, it stays as it was. Resolves to whether it could. */
  async function refresh() {
    latest += 1;
    const look = latest;
    const missed = (error) => (error.code === "forbidden" && onForbidden(error), null);
    const [listed, open] = await Promise.all([readPages().catch(missed), api.listApprovals().catch(() => null)]);
    if (look !== latest) return true;
    if (open) waiting = open;
    if (listed) ({ threads, more } = listed);
    for (const { title } of listed ? news.see(threads, current()) : []) announce(`New in “${reveal(title || "New chat")}”`);
    tell();
    return listed !== null && open !== null;
  }

  /** For who looks again and again. Throws where the server doesn't answer. */
  async function look() {
    if (!(await refresh())) throw new Error("The list of chats could not be loaded.");
  }

  /** The server has decided a call; where that began a run, its chat is at work. */
  async function decided({ id, thread_id }, run) {
    waiting = { ...waiting, approvals: waiting.approvals.filter((approval) => approval.id !== id) };
    if (run) news.began(thread_id);
    tell();
    await refresh();
  }

  /** Every page anew: what was deleted elsewhere is gone. A chat that moves up meanwhile comes twice. */
  async function readPages() {
    const found = new Map();
    let cursor = null;
    for (let page = 0; page < pages && (page === 0 || cursor); page += 1) {
      const read = await api.listThreads(cursor);
      for (const thread of read.threads) if (!found.has(thread.id)) found.set(thread.id, thread);
      cursor = read.next_cursor ?? null;
    }
    return { threads: [...found.values()], more: cursor !== null };
  }

  async function older() {
    pages += 1;
    await refresh();
  }

  /** A chat that begins: listed before the server knows it. */
  function begin({ id, agent, title }) {
    const known = threads.find((thread) => thread.id === id);
    const entry = { ...known, id, agent, title: known?.title || title, updated_at: new Date().toISOString() };
    threads = [entry, ...others(threads, id)];
    tell();
  }

  async function rename({ id, title }) {
    const named = await prompt({ title: "Rename this chat", label: "Title", value: title, yes: "Rename", maxLength: MAX_TITLE });
    if (named) await attempt("The chat was not renamed", () => api.renameThread(id, named));
  }

  async function remove({ id, title }) {
    const waits = waiting.approvals.filter(({ thread_id }) => thread_id === id).length;
    const details = waits > 0 ? `Pending approvals in it (${waits}) will not run.` : "";
    const text = `“${reveal(title)}” is deleted on the server, so it is gone in every browser. What already ran stays done, and that it ran stays on record. ${details}`;
    const sure = await confirm({ title: "Delete this chat?", text: text.trim(), yes: "Delete", no: "Keep it", danger: true });
    if (!sure || !(await attempt("The chat was not deleted", () => api.deleteThread(id)))) return;
    news.read(id);
    onRemoved(id);
  }

  /** Do it and read the list again; say why if it can't be done. What is gone already is gone. */
  async function attempt(title, act) {
    try {
      await act();
    } catch (error) {
      if (error.code !== "not_found") {
        await inform({ title, text: error.message });
        return false;
      }
    }
    await refresh();
    return true;
  }

  return { tell, refresh, look, decided, older, begin, rename, remove, find: (id) => threads.find((thread) => thread.id === id) };
}
