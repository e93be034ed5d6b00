/** A page of one's own, made as frontend-demo/README.md says, on another origin than its server. */

import { counts, shows } from "../eventually.mjs";
import { calls, refund, says } from "../stage.mjs";

export async function approvesFromAnotherOrigin(t) {
  await t.script(calls("I'll refund it.", refund()), says("Refunded, have a nice day."));
  const page = await t.openUrl(t.foreign, { locale: "en-GB" });
  page.allow(new RegExp(`^elsewhere: ${t.foreign}`)); // it is on this machine, by another name
  await t.say(page, "Refund ten cents of order 1003");
  await shows(t.card(page), /Refund 0\.10 € for order 1003\?/);
  await t.chipsAre(page, ["refund:waiting"]);
  await t.press(page, "Approve");
  await t.answered(page, "have a nice day");
  await t.chipsAre(page, ["refund:done"]);
  await counts(t.card(page), 0);
}
