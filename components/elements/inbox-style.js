/** The look of the inbox: lines that open to cards, in any width. */

export const inboxStyle = `
  .inbox-title { font-size: 1.1em; margin: 0 0 8px; }
  .search { width: 100%; padding: 7px 10px; margin-bottom: 8px; border: 1px solid var(--_border-strong); border-radius: var(--_control-radius); background: var(--_surface); }
  .item { border-block-end: 1px solid var(--_border); content-visibility: auto; contain-intrinsic-size: auto 64px; }
  h3 { margin: 0; font: inherit; }
  .line-button { display: flex; flex-wrap: wrap; gap: 0 12px; width: 100%; min-height: 44px; padding: 10px 8px; border: 0; background: none; text-align: start; }
  .line-button:focus-visible { outline-offset: -2px; }
  .line-button:hover { background: var(--_sunken); }
  .inbox-tool { font-weight: 600; flex: 1 0 auto; max-width: 100%; }
  .inbox-state, .inbox-where, .rest, .inbox-note { color: var(--_quiet); font-size: 0.87em; }
  .inbox-what { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .inbox-what, .inbox-where, .inbox-problem { width: 100%; }
  .line-button[aria-expanded="true"] .inbox-what { white-space: normal; }
  .item:not([data-waits="true"]) .inbox-tool { font-weight: 400; }
  .inbox-problem { color: var(--_bad); font-size: 0.87em; }
  .inbox-problem[data-kind="agreed"] { color: var(--_wait); }
  :host([picks]) .item { position: relative; padding-inline-start: 34px; }
  .pick { position: absolute; inset-inline-start: 0; top: 0; padding: 10px 8px; }
  .pick input { width: 18px; height: 18px; margin: 0; accent-color: var(--_accent); }
  .detail { padding: 2px 4px 12px; }
  .detail :is(.ghost, .inbox-note) { margin-top: 6px; }
  .rest { padding: 10px 8px; }
  .rest:empty { display: none; }
  .news { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;
