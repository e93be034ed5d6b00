// What the elements and the pages may import of lit.
export { html, nothing, render } from "lit/html.js";
export { repeat } from "lit/directives/repeat.js";
