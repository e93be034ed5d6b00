/** Deputies: who decides in whose place, from when until when; one is named, and one's time is ended. */

import { endDeputy, nameDeputy } from "./api.js";
import { at, say, words } from "./approvalwords.js";
import { reveal } from "./components/core/reveal.js";
import { html, nothing } from "./components/vendor/lit.js";
import { confirm } from "./dialogs.js";
import { askAndSend, field, valueOf } from "./forms.js";

const MAX_DAYS = 92; // from now, as the server has it

/** A time as a field for times has it, in the person's own zone. */
const local = (time) => new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** A line; `then(what came of it)` is told once the server has done it. */
export const deputyRow = (then) => (deputy) => html`<li>
  <strong dir="auto">${reveal(say("standsIn", deputy))}</strong>
  <p class="quiet" dir="auto">${reveal([say("fromUntil", { since: at(deputy.since), until: at(deputy.until) }), deputy.roles.length > 0 && say("withRoles", { roles: deputy.roles.join(", ") })].filter(Boolean).join(" · "))}</p>
  ${deputy.counts === false ? html`<p class="quiet">${words.countsNoMore}</p>` : nothing}
  <button class="button plain small" type="button" @click=${() => end(deputy, then)}>${words.endDeputy}</button>
</li>`;

async function end(deputy, then) {
  if (!(await confirm({ title: words.endTitle, text: reveal(say("endText", deputy)), yes: words.endYes, no: words.cancel, danger: true }))) return;
  then(await endDeputy(deputy.id).then(() => words.deputyEnded, ({ message }) => message));
}

/** Ask who, from when and until when, and name them. */
export async function addDeputy(then) {
  const times = { type: "datetime-local", min: local(Date.now()), max: local(Date.now() + MAX_DAYS * 86_400_000) };
  const told = await askAndSend({
    title: words.deputyTitle, text: words.deputyText, yes: words.deputyYes, no: words.cancel,
    details: [...field("deputy", words.deputyWho, { required: true, autofocus: true, maxlength: "500", autocapitalize: "off", spellcheck: "false" }), ...field("since", words.deputySince, times), ...field("until", words.deputyUntil, { ...times, required: true })],
    read: () => ({ deputy: valueOf("deputy"), until: timeIn("until"), ...(valueOf("since") && { since: timeIn("since") }) }),
    send: async (body) => say("deputyNamed", { deputy: reveal((await nameDeputy(body)).deputy) }),
  });
  if (told) then(told);
}

const timeIn = (id) => (valueOf(id) ? new Date(valueOf(id)).toISOString() : "");
