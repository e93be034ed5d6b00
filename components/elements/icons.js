/** Line icons; decorative, so hidden from assistive technology. Each is a template of its own: nothing in it is worked out. */

import { html } from "./html.js";
import { asStrings } from "./joined.js";

/** @param {string} path */
const icon = (path) => html(asStrings([`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"></path></svg>`]));

export const ICONS = {
  check: icon("M5 12.5l4.5 4.5L19 7.5"),
  cross: icon("M7 7l10 10M17 7L7 17"),
  people: icon("M9 11a3.5 3.5 0 100-7 3.5 3.5 0 000 7zM3 20a6 6 0 0112 0M16 4.5a3.5 3.5 0 010 6M17.5 14.5A6 6 0 0121 20"),
  gate: icon("M5 20V9a7 7 0 0114 0v11M5 20h14M12 20v-9M9 20v-9M15 20v-9"),
  clock: icon("M12 4a8 8 0 100 16 8 8 0 000-16zM12 8v4l3 2"),
  warning: icon("M12 4L3 19h18zM12 10v4M12 16.5v.5"),
  send: icon("M5 12h14M13 6l6 6-6 6"),
};
