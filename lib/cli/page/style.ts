/** The page's style sheet: light, dark and printed; from a phone's width on. Each tone has a colour for its ground and one that reads on it. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --ink: #1b2026; --faint: #57606a; --rule: #d5dae0; --track: #f3f5f7; --quiet: #dfe3e8;
  --old: #2a66a5; --on-old: #ffffff; --new: #23703f; --on-new: #ffffff;
  --moving: #f2cb5c; --moving-2: #ecbf42; --on-moving: #3a2a00; --bad: #b3301f; --bad-2: #a02717; --on-bad: #ffffff;
  --held: #6254a8; --on-held: #ffffff; --work: #14697a; --on-work: #ffffff; --off: #cdd2d9; --on-off: #2b3138;
  --name: 11rem;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #13161b; --ink: #e7eaee; --faint: #a3acb7; --rule: #363d47; --track: #1c2128; --quiet: #2b323b;
    --old: #6aaeea; --on-old: #08141f; --new: #5fc088; --on-new: #06170d;
    --moving: #e3ba4d; --moving-2: #d6aa36; --on-moving: #221900; --bad: #f58375; --bad-2: #ec7162; --on-bad: #230603;
    --held: #b1a6f2; --on-held: #120c30; --work: #58c3d6; --on-work: #04161a; --off: #4b535e; --on-off: #f0f2f5;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
main { max-width: 78rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.5rem; }
h2 { font-size: 1.1rem; margin: 1.75rem 0 0.5rem; }
h3 { font-size: 0.8rem; margin: 0.6rem 0 0.15rem; color: var(--faint); font-weight: 600; }
p { margin: 0 0 0.5rem; max-width: 95ch; }
small, .faint, .faint p { color: var(--faint); font-size: 0.85rem; }
.faint p { margin: 0; max-width: none; overflow-wrap: anywhere; }
.faint { overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 0.75rem 0; }
th, td { text-align: left; padding: 0.2rem 1.25rem 0.2rem 0; border-bottom: 1px solid var(--rule); font-weight: 400; vertical-align: top; }
thead th { font-weight: 600; }
td { font-variant-numeric: tabular-nums; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; padding: 0; margin: 1.75rem 0 0; font-size: 0.85rem; }
.legend li { display: flex; align-items: center; gap: 0.4rem; }
.swatch { width: 1.5rem; height: 0.8rem; border-radius: 2px; }
.lane { display: grid; grid-template-columns: var(--name) 1fr; align-items: center; }
.name { font-size: 0.85rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; padding-right: 0.75rem; }
.track { position: relative; height: 1.35rem; background: var(--track); border-bottom: 1px solid var(--ground); }
.overview .track { height: 1.75rem; }
.axis .track { background: none; height: 2.4rem; font-size: 0.75rem; color: var(--faint); border: 0; }
.tick, .span { position: absolute; white-space: nowrap; bottom: 0; }
.tick { transform: translateX(-50%); }
.tick.last { transform: translateX(-100%); }
.span { top: 0; text-align: center; overflow: hidden; font-style: italic; }
.line { position: absolute; top: 0; bottom: 0; border-left: 1px solid var(--rule); opacity: 0.6; }
.track .quiet, .cut { position: absolute; top: 0; bottom: 0; pointer-events: none; }
.swatch.quiet, .track .quiet { background: repeating-linear-gradient(115deg, var(--quiet) 0 3px, transparent 3px 8px); }
/* The break goes through the bars too, which are as much shortened as the rest. */
.cut { z-index: 1; width: 10px; transform: translateX(-50%) skewX(-20deg); border: solid var(--ground); border-width: 0 2px; background: var(--track); }
.bar { position: absolute; top: 1px; bottom: 1px; min-width: 3px; padding: 0; border: 0; border-radius: 2px; cursor: help; font: inherit; font-size: 0.75rem; text-align: left; overflow: hidden; container-type: inline-size; }
.bar span { display: block; padding: 0 4px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
@container (max-width: 2.6rem) { .bar span { display: none; } }
.old { background: var(--old); color: var(--on-old); }
.new { background: var(--new); color: var(--on-new); }
.moving { background: repeating-linear-gradient(135deg, var(--moving) 0 6px, var(--moving-2) 6px 12px); color: var(--on-moving); }
.bar.bad, .swatch.bad { background: repeating-linear-gradient(45deg, var(--bad) 0 6px, var(--bad-2) 6px 12px); color: var(--on-bad); }
.held { background: var(--held); color: var(--on-held); }
.work { background: var(--work); color: var(--on-work); }
.off { background: var(--off); color: var(--on-off); }
.mark { position: absolute; z-index: 2; top: 50%; width: 12px; height: 12px; padding: 0; transform: translate(-50%, -50%); border: 2px solid var(--ground); border-radius: 50%; background: var(--ink); color: var(--ground); cursor: help; font: bold 10px/1 sans-serif; }
.mark.good, .mark.bad { width: 18px; height: 18px; font-size: 12px; }
.mark.good { background: var(--new); color: var(--on-new); }
.mark.bad { background: var(--bad); color: var(--on-bad); }
.bar:hover, .mark:hover { filter: brightness(1.08); }
button:focus-visible { outline: 3px solid var(--ink); outline-offset: 1px; z-index: 3; }
.figure { position: absolute; top: 50%; transform: translateY(-50%); padding-left: 0.5rem; white-space: nowrap; font-weight: 600; font-variant-numeric: tabular-nums; }
.figure.before, .figure.inside { transform: translate(-100%, -50%); padding: 0 0.5rem 0 0; }
.figure.inside { color: var(--on-bad); pointer-events: none; }
.stories { display: grid; grid-template-columns: 1fr 1fr; gap: 0 2rem; }
.story ol { list-style: none; padding: 0; margin: 0; }
.story li { display: grid; grid-template-columns: 5.5rem 1fr; gap: 0.75rem; padding: 0.1rem 0; font-size: 0.9rem; }
.time { text-align: right; color: var(--faint); font-variant-numeric: tabular-nums; white-space: pre; }
.key, .good, .bad { font-weight: 600; }
li.good > span:last-child::before { content: "✓ "; }
li.bad > span:last-child::before { content: "! "; }
#tip { position: fixed; z-index: 4; max-width: min(26rem, calc(100vw - 16px)); padding: 0.5rem 0.7rem; border-radius: 4px; background: var(--ink); color: var(--ground); font-size: 0.85rem; pointer-events: none; }
#tip strong { display: block; }
#tip[hidden] { display: none; }
@media (max-width: 45rem) {
  main { padding: 1rem 0.75rem 2rem; }
  .lane { grid-template-columns: 1fr; }
  .lane .name { padding-top: 0.15rem; line-height: 1.2; }
  .axis .name { display: none; }
  .tick.minor { display: none; }
  .stories { grid-template-columns: 1fr; }
  th, td { padding-right: 0.75rem; }
}
@media print {
  @page { size: A4 landscape; margin: 12mm; }
  :root {
    color-scheme: light;
    --ground: #ffffff; --ink: #000000; --faint: #444444; --rule: #bbbbbb; --track: #f3f5f7; --quiet: #cfd4da;
    --old: #2a66a5; --on-old: #ffffff; --new: #23703f; --on-new: #ffffff;
    --moving: #f2cb5c; --moving-2: #ecbf42; --on-moving: #3a2a00; --bad: #b3301f; --bad-2: #a02717; --on-bad: #ffffff;
    --held: #6254a8; --on-held: #ffffff; --work: #14697a; --on-work: #ffffff; --off: #cdd2d9; --on-off: #2b3138;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 11px; }
  main { max-width: none; padding: 0; }
  .side { break-before: page; }
  .lane, .group, tr, .story li { break-inside: avoid; }
  #tip { display: none; }
}
`;
