/**
 * The look of the elements. Every colour and size is a variable with a default, light and dark by the page's
 * `color-scheme`, so that they fit into any page; parts are for what variables can't do.
 */

/**
 * What changes where there is little room: what needs the width gets it.
 * @param {string} host
 */
const narrow = (host) =>
  `
    ${host} { --_inset: 14px; }
    ${host} .card-header { flex-wrap: wrap; padding-block: 12px 10px; }
    ${host} .card-heading { flex-basis: calc(100% - 46px); }
    ${host} .expiry { margin-inline-start: 46px; }
    ${host} .card-actions { padding-block: 12px 14px; }
    ${host} .arguments > :is(.nested, .of-field, .field) { grid-column: 1 / -1; }
    ${host} .arguments > .field { margin-top: -5px; }
  `;

export const style = `
  :host {
    --_surface: var(--agui-gate-surface, light-dark(#fff, #20201e));
    --_page: var(--agui-gate-page, light-dark(#fbfaf8, #171716));
    --_sunken: var(--agui-gate-sunken, light-dark(#f4f2ee, #262623));
    --_border: var(--agui-gate-line, light-dark(#e5e1d9, #31302d));
    --_border-strong: var(--agui-gate-line-strong, light-dark(#d3cdc2, #45433e));
    --_text: var(--agui-gate-text, light-dark(#1f1d1a, #eceae5));
    --_quiet: var(--agui-gate-quiet, light-dark(#6b665e, #a19c92));
    --_accent: var(--agui-gate-accent, light-dark(#0f766e, #2aa596));
    --_accent-strong: var(--agui-gate-accent-strong, light-dark(#0b5d57, #4cbcae));
    --_on-accent: var(--agui-gate-on-accent, light-dark(#fff, #06201d));
    --_wait: var(--agui-gate-wait, light-dark(#8a5109, #eab95c));
    --_wait-soft: var(--agui-gate-wait-soft, light-dark(#fdf3df, #2b2416));
    --_wait-line: var(--agui-gate-wait-line, color-mix(in srgb, var(--_wait) 30%, var(--_surface)));
    --_bad: var(--agui-gate-bad, light-dark(#b3261e, #f28b82));
    --_bad-soft: var(--agui-gate-bad-soft, light-dark(#fcecea, #2f1c1a));
    --_bad-line: var(--agui-gate-bad-line, color-mix(in srgb, var(--_bad) 30%, var(--_surface)));
    --_shadow: var(--agui-gate-shadow, 0 2px 14px rgb(40 35 25 / 8%));
    --_radius: var(--agui-gate-radius, 14px);
    --_control-radius: var(--agui-gate-control-radius, 9px);
    --_sans: var(--agui-gate-font, system-ui, sans-serif);
    --_mono: var(--agui-gate-mono, ui-monospace, Menlo, Consolas, monospace);
    --_inset: 18px;
    display: block;
    text-align: start;
    color: var(--_text);
    font: 400 var(--agui-gate-font-size, 15px)/1.6 var(--_sans);
    letter-spacing: normal;
    text-transform: none;
    white-space: normal;
  }

  :host([hidden]) {
    display: none;
  }

  * {
    box-sizing: border-box;
    margin: 0;
    padding: 0;
  }

  ul {
    list-style: none;
  }

  button,
  input,
  select,
  textarea {
    font: inherit;
    color: inherit;
  }

  button {
    cursor: pointer;
  }

  :focus-visible {
    outline: 2px solid var(--agui-gate-focus, var(--_accent));
    outline-offset: 2px;
  }

  .icon {
    width: 1.15em;
    height: 1.15em;
    flex: none;
    fill: none;
    stroke: currentColor;
    stroke-width: 1.8;
    stroke-linecap: round;
    stroke-linejoin: round;
  }

  [dir="auto"] {
    text-align: -webkit-match-parent;
    text-align: match-parent;
  }

  .quiet,
  .field-help {
    color: var(--_quiet);
  }

  .amount {
    white-space: nowrap;
  }

  .hidden-character {
    padding: 0 3px;
    border-radius: 4px;
    background: var(--_bad-soft);
    color: var(--_bad);
    font-family: var(--_mono);
    font-size: 0.87em;
    unicode-bidi: isolate;
  }

  /* The card */

  .card {
    scroll-margin-block: 14px;
    border: 1px solid var(--_wait-line);
    border-radius: var(--_radius);
    background: var(--_surface);
    box-shadow: var(--_shadow);
    overflow: hidden;
  }

  /* Off screen it is laid out when it is scrolled to, where a page shows it by its id, as lists do; a chat, which follows its end, doesn't. */
  :host([approval]) [data-mode="view"] {
    content-visibility: auto;
    contain-intrinsic-size: auto 250px;
  }

  .card-header {
    display: flex;
    align-items: flex-start;
    gap: 12px;
    padding: 14px var(--_inset) 12px;
    background: var(--_wait-soft);
  }

  .card-header > .icon {
    width: 34px;
    height: 34px;
    padding: 7px;
    border-radius: 10px;
    background: color-mix(in srgb, var(--_wait) 10%, transparent);
    color: var(--_wait);
  }

  .card-heading {
    flex: 1;
    min-width: 0;
    overflow-wrap: anywhere;
  }

  .card-heading p {
    font-size: 0.95em;
    line-height: 1.45;
  }

  .card-heading .card-agent {
    color: var(--_wait);
    font-size: 0.87em;
    font-weight: 550;
  }

  .card-title {
    font-size: 1.1em;
    font-weight: 650;
    line-height: 1.45;
  }

  .expiry {
    flex: none;
    padding: 2px 9px;
    border-radius: 99px;
    background: color-mix(in srgb, var(--_wait) 10%, transparent);
    color: var(--_wait);
    font-size: 0.87em;
    font-variant-numeric: tabular-nums;
  }

  .expiry[data-soon="true"] {
    background: var(--_bad-soft);
    color: var(--_bad);
  }

  .card-refused,
  .card-people,
  .card-barred,
  .card-earlier {
    display: flex;
    gap: 8px;
    padding: 10px var(--_inset);
    font-size: 0.95em;
    overflow-wrap: anywhere;
  }

  .card-refused {
    background: var(--_bad-soft);
    color: var(--_bad);
  }

  .card-people {
    padding-block: 0 11px;
    background: var(--_wait-soft);
  }

  .card-barred {
    border-block: 1px solid var(--_wait-line);
    font-weight: 550;
  }

  :is(.card-refused, .card-people, .card-barred) .icon,
  .card-earlier > .icon {
    margin-top: 0.2em;
  }

  .card-earlier {
    border-bottom: 1px solid var(--_wait-line);
    background: var(--_wait-soft);
  }

  :is(.card-earlier, .card-people, .card-barred) > .icon {
    color: var(--_wait);
  }

  .card-earlier strong {
    font-weight: 550;
  }

  .card-earlier[data-same="true"] {
    border-color: var(--_bad-line);
    background: var(--_bad-soft);
  }

  .card-earlier[data-same="true"] :is(.icon, strong) {
    color: var(--_bad);
  }

  /* Arguments */

  .arguments {
    display: grid;
    grid-template-columns: fit-content(40%) minmax(0, 1fr);
    gap: 7px 24px;
    font-size: 0.95em;
  }

  .card .arguments:not(.arguments *),
  .card .quiet[part="arguments"] {
    padding: 12px var(--_inset) 2px;
  }

  .arguments dt {
    min-width: 6rem;
    color: var(--_quiet);
    overflow-wrap: anywhere;
  }

  .arguments dd {
    min-width: 0;
    overflow-wrap: anywhere;
    white-space: pre-wrap;
    font-variant-numeric: tabular-nums;
  }

  /* A value that has parts of its own */
  .arguments .arguments {
    gap: 4px 18px;
    padding: 7px 12px;
    border-radius: 8px;
    background: var(--_sunken);
    font-size: 1em;
    white-space: normal;
  }

  .arguments .arguments dt {
    min-width: 4rem;
  }

  .arguments .nested > div + div {
    margin-top: 6px;
  }

  /* Fields */

  .arguments .of-field {
    padding-top: 6px;
    color: var(--_text);
    font-weight: 550;
  }

  .arguments .field {
    white-space: normal;
  }

  .field :is(input:not([type="checkbox"]), select, textarea) {
    width: 100%;
    min-height: 36px;
    padding: 6px 11px;
    border: 1px solid var(--_border-strong);
    border-radius: var(--_control-radius);
    background: var(--_page);
    line-height: 1.45;
  }

  .field textarea {
    display: block;
    min-height: 5.2em;
    max-height: 18em;
    field-sizing: content;
    resize: vertical;
  }

  .field textarea[data-kind="json"] {
    font-family: var(--_mono);
    font-size: 0.87em;
  }

  .field input[type="checkbox"] {
    width: 18px;
    height: 18px;
    margin: 9px 0;
    accent-color: var(--_accent);
  }

  .field [aria-invalid] {
    border-color: var(--_bad) !important;
  }

  .field > p:not(:empty) {
    margin-top: 4px;
    font-size: 0.87em;
    overflow-wrap: anywhere;
  }

  .field-error {
    color: var(--_bad);
  }

  .reason {
    display: grid;
    gap: 5px;
    padding: 12px var(--_inset) 0;
  }

  .reason label {
    font-size: 0.95em;
    font-weight: 550;
  }

  /* Buttons */

  .card-actions {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
    padding: 14px var(--_inset) 16px;
  }

  .card-actions .danger {
    margin-inline-start: auto;
  }

  .button,
  .ghost {
    min-height: 36px;
    padding: 0 11px;
    border: 1px solid transparent;
    border-radius: var(--_control-radius);
    background: none;
    font-size: 0.95em;
    font-weight: 550;
  }

  .button .icon {
    margin-inline-end: 7px;
    vertical-align: -0.2em;
  }

  .primary {
    background: var(--_accent);
    color: var(--_on-accent);
  }

  .primary:hover {
    background: var(--_accent-strong);
  }

  :is(.plain, .danger) {
    background: var(--_surface);
    border-color: var(--_border-strong);
  }

  .plain:hover {
    background: var(--_sunken);
  }

  .danger:hover,
  .button.reject {
    color: var(--_bad);
    border-color: var(--_bad-line);
    background: var(--_bad-soft);
  }

  .button:disabled {
    opacity: 0.45;
    pointer-events: none;
  }

  .ghost {
    min-height: 30px;
    padding: 0 9px;
    color: var(--_quiet);
    font-size: 0.87em;
  }

  .ghost:hover {
    background: var(--_sunken);
    color: var(--_text);
  }

  kbd {
    display: none;
    margin-inline-start: 5px;
    padding: 0 4px;
    border: 1px solid color-mix(in srgb, currentcolor 45%, transparent);
    border-radius: 5px;
    font: 500 11px/1.5 var(--_mono);
    text-align: center;
  }

  @media (hover: hover) and (min-width: 701px) {
    kbd {
      display: var(--agui-gate-keys, inline);
    }
  }

  /* What was decided, in one line */

  .line {
    display: flex;
    align-items: flex-start;
    gap: 6px;
    color: var(--_quiet);
    font-size: 0.87em;
    overflow-wrap: anywhere;
  }

  .line > .icon {
    margin-top: 0.25em;
  }

  .line strong {
    color: var(--_text);
    font-weight: 550;
  }

  .line[data-approved="true"] > .icon {
    color: var(--_accent);
  }

  .line[data-approved="false"]:not([data-state]) > .icon,
  .line[data-state="rejected"] > .icon {
    color: var(--_bad);
  }

  .card:is([data-mode="decided"], [data-mode="sending"], [data-mode="closed"]) {
    border-color: var(--_border);
    box-shadow: none;
  }

  .card > .line {
    align-items: center;
    gap: 9px;
    min-height: 42px;
    padding-block: 6px;
    padding-inline: 14px 8px;
    font-size: 0.95em;
  }

  .card > .line > .icon {
    margin: 0;
  }

  .card > .line > span {
    flex: 1;
    min-width: 0;
  }

  .card[data-mode="decided"] > .line > span {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  /* Little room */

  ${narrow(":host([density=compact])")}

  @media (max-width: 560px) {
    ${narrow(":host")}

    .card-actions .button {
      flex: 1 0 auto;
      min-height: 42px;
      padding: 0 10px;
    }

    .card-actions .danger {
      margin-inline-start: 0;
    }
  }
`;
