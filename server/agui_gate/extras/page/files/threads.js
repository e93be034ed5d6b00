/** The person's chats as the server lists them, and what waits in them. No DOM; times are ms since epoch. */

import { humanize, summary } from "./components/core/values.js";

const DAY = 86_400_000; // ms

/**
 * What to show: `[[name, [{id, agent, title, at, waits, isOthers, mark}]]]`, what waits first: for the person, or for others,
 * who have to approve it. `marks` say where somebody is at work (unread.js); `moreApprovals`, that the server has more of
 * them than it listed.
 */
export function sections(threads, approvals, now, { marks = {}, moreApprovals = false } = {}) {
  const open = approvals.filter((approval) => isOpen(approval, now));
  const waiting = [...new Map(open.map((approval) => [approval.thread_id, approval])).values()];
  const first = waiting.map((approval) => waitingThread(approval, threads, open));
  const ids = new Set(first.map(({ id }) => id));
  const rest = threads.filter(({ id }) => !ids.has(id)).map((thread) => toEntry(thread, marks[thread.id]));
  const count = `${open.length}${moreApprovals ? "+" : ""}`;
  const whom = first.every(({ isOthers }) => isOthers) ? "others" : "you";
  return [...(first.length > 0 ? [[`Waiting for ${whom} (${count})`, first]] : []), ...byDay(rest, now)];
}

/** What has expired waits for nobody, whether or not the server has noticed. */
export const isOpen = ({ expires_at }, now) => !expires_at || Date.parse(expires_at) > now;

/** When the next of them expires, or null. */
export function nextExpiry(approvals, now) {
  const times = approvals.filter((approval) => approval.expires_at && isOpen(approval, now)).map(({ expires_at }) => Date.parse(expires_at));
  return times.length > 0 ? Math.min(...times) : null;
}

/** `number` tells a chat from older ones of the same title. */
const toEntry = ({ id, agent, title, updated_at, number }, mark = null) => ({ id, agent, title: title || "New chat", at: Date.parse(updated_at), waits: null, mark, ...(number && { number }) });

/** Chats of the same title are numbered, the oldest first; `threads` are the latest first. */
export function apart(threads) {
  const seen = new Map();
  const numbered = threads.toReversed().map((thread) => {
    const number = (seen.get(thread.title) ?? 0) + 1;
    seen.set(thread.title, number);
    return number > 1 ? { ...thread, number } : thread;
  });
  return numbered.reverse();
}

function waitingThread(approval, threads, open) {
  const known = threads.find(({ id }) => id === approval.thread_id);
  const mine = open.filter(({ thread_id }) => thread_id === approval.thread_id);
  const what = approval.message || [humanize(approval.tool), summary(approval.arguments)].filter(Boolean).join(" · ");
  const waits = mine.length > 1 ? `${what} (and ${mine.length - 1} more)` : what;
  const listed = known ?? { id: approval.thread_id, agent: approval.agent, updated_at: approval.asked_at, title: humanize(approval.tool) };
  return { ...toEntry(listed), at: Date.parse(approval.asked_at), waits, isOthers: !mine.some(({ you }) => !you || you.may.includes("approve")) };
}

function byDay(threads, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const named = { Today: [], Yesterday: [], Earlier: [] };
  for (const thread of threads) {
    if (thread.at >= midnight) named.Today.push(thread);
    else if (thread.at >= midnight - DAY) named.Yesterday.push(thread);
    else named.Earlier.push(thread);
  }
  return Object.entries(named).filter(([, members]) => members.length > 0);
}
