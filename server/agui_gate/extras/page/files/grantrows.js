/** Lines of standing grants: what is let go, by whom, and how much of it was used. */

import { at, say, words } from "./approvalwords.js";
import { grantText } from "./components/core/people.js";
import { reveal } from "./components/core/reveal.js";
import { stringsFor } from "./components/core/strings.js";
import { humanize } from "./components/core/values.js";
import { html, nothing } from "./components/vendor/lit.js";
import { lang } from "./desk.js";

/** `revoke(id)` is called by its button. */
export const grantRow = (revoke) => ({ id, tool, agent, by, by_roles: roles = [], counts, at: since, until, thread_id, arguments: same, times, used, field, up_to, total, spent }) => {
  const scope = { in_thread: thread_id !== null, field, up_to, total, same: [] };
  const values = Object.entries(same).map(([name, value]) => `${humanize(name)} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const uses = [times === null ? say("used", { used }) : say("usedOf", { used, times }), total && say("spent", { spent, total })];
  return html`<li>
    <strong dir="auto">${reveal([humanize(tool), humanize(agent)].join(" · "))}</strong>
    <p dir="auto">${reveal([...values, grantText(scope, stringsFor(lang))].filter(Boolean).join(", "))}</p>
    <p class="quiet" dir="auto">${[say("given", { by: reveal(by), at: at(since), until: at(until) }), roles.length > 0 && reveal(say("withRoles", { roles: roles.join(", ") })), ...uses].filter(Boolean).join(" · ")}</p>
    ${counts === false ? html`<p class="quiet">${words.countsNoMore}</p>` : nothing}
    <button class="button plain small" type="button" @click=${() => revoke(id)}>${words.revoke}</button>
  </li>`;
};
