"""The page's style sheet: light or dark as the reader's system is, wide or narrow as the window is."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --muted: #5b6571; --faint: #d5dae0; --paper: #ffffff;
  --card: #f6f7f9; --good: #1a7f4b; --bad: #c0362c; --warn: #9a6700; --link: #1f66b5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --muted: #9aa5b1; --faint: #39414b;
  --paper: #14171b; --card: #1c2127; --good: #56c48c; --bad: #f0776c; --warn: #e0b13f; --link: #78b2f2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(.8rem, 3vw, 2.5rem); max-width: 82rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", Verdana, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .3rem; }
h3 { font-size: .95rem; margin: 0 0 .4rem; } a { color: var(--link); }
p { margin: .3rem 0 .8rem; } .quiet, figcaption { color: var(--muted); font-size: .87rem; }
.badge { font-size: .78rem; padding: .05rem .45rem; border: 1px solid currentColor; border-radius: 1rem;
  white-space: nowrap; font-weight: 600; color: var(--muted); }
.recorded, .exact, .good, .badge.recorded, .badge.exact { color: var(--good); }
.imported, .badge.imported { color: var(--link); }
.synthetic, .modelled, .badge.synthetic, .badge.modelled { color: var(--warn); }
.unsupported, .bad, .badge.unsupported { color: var(--bad); }
details.set { border: 1px solid var(--faint); border-radius: .5rem; margin: .8rem 0;
  background: var(--card); }
details.set > summary { cursor: pointer; padding: .6rem .9rem; overflow-wrap: anywhere; }
details.set > summary b { font-size: 1.05rem; margin-right: .4rem; }
details details > summary { cursor: pointer; color: var(--muted); padding: .3rem 0; }
details.set > div { padding: 0 .9rem .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; min-width: 100%; }
th, td { padding: .2rem .45rem; text-align: right; white-space: nowrap; }
th:first-child, .text { text-align: left; } thead th { color: var(--muted); font-weight: 600;
  border-bottom: 1px solid var(--faint); vertical-align: bottom; }
tbody th { font-weight: 400; position: sticky; left: 0; background: var(--paper); }
details tbody th { background: var(--card); } tr.best th, tr.best td { font-weight: 700; }
tr.group th { padding-top: .6rem; color: var(--muted); font-style: italic; }
.group .badge { font-style: normal; }
tbody.ladder tr:not(.group) > * { color: var(--muted); }
tbody.ladder td.bad { color: var(--bad); } tbody.ladder td.unsupported { color: var(--bad); }
tbody tr:hover { background: var(--faint); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 1rem; }
figure { margin: 1rem 0 0; min-width: 0; } .wide { grid-column: 1 / -1; }
figure svg { display: block; width: 100%; height: auto; } .wide svg { min-width: 46rem; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { font-family: "DejaVu Sans", Verdana, "Segoe UI", system-ui, sans-serif; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; font-size: .8rem; color: var(--muted); }
.key { display: inline-flex; align-items: center; gap: .35rem; overflow-wrap: anywhere; }
.key i { flex: none; width: 1.3rem; border-top: 2px solid; } i.dashed { border-top-style: dashed; }
i.dotted { border-top-style: dotted; } i.dashdot { border-top-style: double; border-top-width: 4px; }
.key i.dot { width: .6rem; height: .6rem; border: 0; border-radius: 50%; background: currentColor; }
.key i.diamond { width: .5rem; height: .5rem; border: 0; rotate: 45deg;
  background: currentColor; }
.key i.band { height: .6rem; border: 0; background: currentColor; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .25rem 1rem;
  font-size: .88rem; }
dt { font-weight: 600; } dd { margin: 0; color: var(--muted); }
ul.notes { margin: .4rem 0; padding-left: 1.1rem; color: var(--muted); font-size: .84rem;
  overflow-wrap: anywhere; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
@media print { details.set { break-inside: avoid-page; } }
"""
