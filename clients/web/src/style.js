// How the bell looks. Every colour and size can be set from outside by a variable; README.md lists them.

const SHEET = `
:host {
  --accent: var(--tidings-accent, light-dark(#1f5fbf, #8ab8ff));
  --ink: var(--tidings-ink, light-dark(#1c1d20, #ececee));
  --soft: var(--tidings-soft, light-dark(#5c6068, #a9adb5));
  --paper: var(--tidings-paper, light-dark(#fff, #1f2124));
  --line: var(--tidings-line, light-dark(#e2e4e8, #383b41));
  --hover: var(--tidings-hover, light-dark(#f3f4f6, #2a2d32));
  --fresh: var(--tidings-fresh, light-dark(#edf4ff, #22304a));
  --badge: var(--tidings-badge, light-dark(#c62828, #ff8a80));
  --badge-ink: var(--tidings-badge-ink, light-dark(#fff, #2b0b0a));
  --radius: var(--tidings-radius, .75rem);
  display: inline-block; position: relative; vertical-align: middle;
}
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; }
button, a { font: inherit; color: inherit; letter-spacing: inherit; }
button { border: 0; background: none; padding: 0; margin: 0; cursor: pointer; text-align: start; }
p, ul { margin: 0; padding: 0; }
ul { list-style: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; border-radius: .375rem; }
svg { display: block; inline-size: 1.25em; block-size: 1.25em; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.icon-more { stroke-width: 3; }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.bell { position: relative; display: grid; place-items: center; inline-size: 2.75rem; block-size: 2.75rem; border-radius: 50%; color: var(--tidings-bell, inherit); }
.bell:hover, .bell[aria-expanded=true] { background: color-mix(in srgb, currentColor 12%, transparent); }
.bell:focus-visible { border-radius: 50%; }
.icon-bell, ::slotted([slot=icon]) { inline-size: 1.5rem; block-size: 1.5rem; border-radius: 0; background: none; }
.badge { position: absolute; inset-block-start: .15rem; inset-inline-start: 1.35rem; min-inline-size: 1.2rem; padding-inline: .3rem; border-radius: 1rem;
  background: var(--badge); color: var(--badge-ink); font: 700 .7rem/1.2rem var(--tidings-font, system-ui, sans-serif); text-align: center; }
.away { position: absolute; inset-block-end: .2rem; inset-inline-end: .2rem; padding: .1rem; border-radius: 50%; background: var(--paper); color: var(--soft); font-size: .7rem; }

.panel { position: fixed; inset: auto; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: var(--radius); overflow: hidden;
  inline-size: min(var(--tidings-width, 26rem), 100vw - 1rem); max-block-size: min(var(--tidings-height, 36rem), 100dvh - 1rem);
  background: var(--paper); color: var(--ink); font: 1rem/1.375 var(--tidings-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans Arabic", sans-serif);
  text-align: start; box-shadow: 0 .5rem 2rem rgb(0 0 0 / .2); }
.panel:popover-open { display: flex; flex-direction: column; }
.panel:focus { outline: none; }
.head { display: flex; align-items: center; gap: .5rem; padding-block-start: .5rem; padding-inline: 1rem .5rem; }
.head strong { flex: 1; font-size: 1.125rem; font-weight: 650; }
.round { display: grid; place-items: center; flex: none; inline-size: 2.5rem; block-size: 2.5rem; border-radius: 50%; color: var(--soft); }
.round:hover, .text:hover { background: var(--hover); color: var(--ink); }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem; padding: .25rem .75rem .5rem; border-block-end: 1px solid var(--line); }
.text { padding: .375rem .625rem; min-block-size: 2rem; border-radius: 1rem; font-size: .875rem; color: var(--accent); font-weight: 550; }
.tab { color: var(--soft); }
.tab[aria-pressed=true] { background: var(--hover); color: var(--ink); }
.note { display: flex; align-items: center; gap: .75rem; padding: .5rem 1rem; background: var(--hover); color: var(--ink); font-size: .875rem; border-block-end: 1px solid var(--line); }
.note span { flex: 1; }
.scroll { flex: 1; min-block-size: 6rem; overflow-y: auto; overscroll-behavior: contain; }
.empty, .wait { padding: 2rem 1rem; text-align: center; color: var(--soft); }
.wait { padding: 1rem; font-size: .875rem; }

.group { content-visibility: auto; contain-intrinsic-block-size: auto 225rem; }
.row { border-block-end: 1px solid var(--line); }
.group:last-child > .row:last-child { border-block-end: 0; }
.row.fresh { background: var(--fresh); }
.lead { position: relative; display: flex; align-items: flex-start; padding-block: .625rem; padding-inline: 1.75rem .25rem; }
.lead:hover { background: color-mix(in srgb, var(--ink) 5%, transparent); }
.dot { position: absolute; inset-inline-start: .7rem; inset-block-start: 1.05rem; inline-size: .55rem; block-size: .55rem; border-radius: 50%; background: var(--accent); forced-color-adjust: none; }
.told { flex: 1; min-inline-size: 0; overflow-wrap: anywhere; padding-block: .125rem; }
.main { display: block; inline-size: 100%; text-decoration: none; }
.clip { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; overflow: hidden; }
.main::after { content: ""; position: absolute; inset: 0; }
.main:focus-visible { outline: none; }
.main:focus-visible::after { outline: 2px solid var(--accent); outline-offset: -3px; border-radius: .5rem; }
.unread .main { font-weight: 600; }
.about { color: var(--soft); font-size: .8125rem; line-height: 1.125rem; margin-block-start: .125rem; }
.lead .round { position: relative; z-index: 1; }
.acts, .fold { display: flex; flex-wrap: wrap; gap: .25rem; padding-block-end: .5rem; padding-inline: 1.125rem .75rem; }
.acts { gap: 0; padding-inline-start: 1.25rem; }
.acts .text { padding-inline: .5rem; }
.icon-fold { display: inline-block; vertical-align: -.3em; margin-inline-end: .125rem; }
[aria-expanded=true] > .icon-fold { rotate: 180deg; }
.within { margin-inline-start: 1.75rem; border-inline-start: 2px solid var(--line); margin-block-end: .5rem; }
.within .lead { padding-block: .375rem; padding-inline: 1.5rem .5rem; }
.within .dot { inset-inline-start: .55rem; inset-block-start: .9rem; }
.within .told { font-size: .9375rem; }
.toast { display: flex; align-items: center; gap: .5rem; padding-block: .5rem; padding-inline: 1rem .5rem; border-block-start: 1px solid var(--line); }
.toast span { flex: 1; }
::slotted([slot=footer]) { display: block; padding: .625rem 1rem; border-block-start: 1px solid var(--line); text-align: center; }

@media (prefers-reduced-motion: no-preference) {
  .panel:popover-open { animation: come .12s ease-out; }
  .badge { animation: come .2s ease-out; }
  .icon-fold { transition: rotate .15s; }
  @keyframes come { from { transform: translateY(-.25rem); } }
}
@media (forced-colors: active) {
  .badge, .panel, .tab[aria-pressed=true] { border: 1px solid; }
  .dot { background: Highlight; }
}
@media (pointer: coarse) { .text { min-block-size: 2.5rem; } }
`;

let sheet;

/** One sheet for all bells of a page; a policy without 'unsafe-inline' allows it. */
export function readStyle() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(SHEET);
  }
  return sheet;
}
