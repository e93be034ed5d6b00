/** The inbox as the page has it: what waits (inbox.js), drawn in its panel, and told to those who listen. */

import { recordStatus } from "./callrows.js";
import { decisionLine } from "./components/core/records.js";
import { reveal } from "./components/core/reveal.js";
import { serverNow } from "./components/core/servertime.js";
import { humanize } from "./components/core/values.js";
import { createInbox, isOver } from "./inbox.js";
import { createPanel } from "./inboxpanel.js";
import { countOf, toItem } from "./inboxrows.js";
import { isOpen } from "./threads.js";
import { LABELS } from "./words.js";

/**
 * `parts` are the panel's nodes. `current()` is the open chat's id, `agents()` what is served (team.js);
 * `onDecided(record, run)` once the server has decided something, `openChat(thread)`, `askToken()`, `announce(text)`.
 */
export function createInboxView(parts, { api, current, agents, onDecided, openChat, askToken, announce, onToggle }) {
  let lists = { threads: [], approvals: [], moreApprovals: false };
  let shown = [];
  const waiting = () => lists.approvals.filter((approval) => isOpen(approval, serverNow()));

  const inbox = createInbox({
    api,
    onDecided,
    onChange(entries) {
      const news = newsOf(shown, entries);
      if (news) announce(news);
      shown = entries;
      draw();
    },
  });
  const panel = createPanel(parts, {
    decide: inbox.decide,
    look: inbox.look,
    askToken,
    openChat,
    opened() {
      inbox.open(waiting());
      onToggle();
    },
    closed() {
      inbox.close();
      onToggle();
    },
  });

  function draw() {
    const count = inbox.isOpen() ? countOf(shown) : waiting().length;
    const items = shown.map((entry) => toItem(entry, { threads: lists.threads, current: current(), agents: agents() }));
    panel.draw({ items, count, more: lists.moreApprovals });
  }

  return {
    show: panel.show,
    giveWay: panel.giveWay,
    isOpen: inbox.isOpen,
    /** What the server lists. */
    render(changes) {
      lists = { ...lists, ...changes };
      draw();
      void inbox.take(waiting());
    },
  };
}

/** What became of a call that waited, for those who listen. */
function newsOf(old, entries) {
  const before = new Map(old.map((entry) => [entry.record.id, entry]));
  const over = entries.find((entry) => isOver(entry) && before.has(entry.record.id) && !isOver(before.get(entry.record.id)));
  if (!over) return null;
  const { record, late, gone } = over;
  const ended = gone ? "This chat was deleted" : (decisionLine(record, { already: late }) ?? LABELS[recordStatus(record)]);
  return `${reveal(humanize(record.tool))}: ${ended}${late ? ". Your answer came too late." : ""}`;
}
