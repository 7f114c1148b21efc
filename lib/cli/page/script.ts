/**
 * The page's own script: explanations in place of the browser's slow ones, and arrow keys from bar to bar. Without it, each bar still
 * has its title. Runs in the reader's browser; plain text here, for no build step stands between.
 */
export const SCRIPT = `"use strict";
const tip = document.getElementById("tip");
const buttons = [...document.querySelectorAll(".track button")];
let shown;

function show(button) {
  shown = button;
  const [what, why] = button.dataset.text.split("\\n");
  const name = document.createElement("strong");
  name.textContent = what;
  tip.replaceChildren(name, why);
  tip.hidden = false;
  const bar = button.getBoundingClientRect();
  const box = tip.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const left = Math.min(Math.max(8, bar.left + Math.min(bar.width, 160) / 2 - box.width / 2), width - box.width - 8);
  const below = bar.bottom + 8 + box.height <= window.innerHeight;
  tip.style.left = left + "px";
  tip.style.top = (below ? bar.bottom + 8 : Math.max(8, bar.top - 8 - box.height)) + "px";
}

function hide() {
  shown = undefined;
  tip.hidden = true;
}

function go(event, button) {
  const tracks = [...document.querySelectorAll(".track")].filter((track) => track.querySelector("button"));
  const row = tracks.indexOf(button.parentElement);
  const own = ordered(tracks[row]);
  const place = own.indexOf(button);
  const near = (track) => track && ordered(track).reduce((best, each) => (distance(each, button) < distance(best, button) ? each : best));
  const next = {
    ArrowRight: own[place + 1],
    ArrowLeft: own[place - 1],
    Home: own[0],
    End: own.at(-1),
    ArrowDown: near(tracks[row + 1]),
    ArrowUp: near(tracks[row - 1]),
  }[event.key];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function ordered(track) {
  return [...track.querySelectorAll("button")].sort((a, b) => a.getBoundingClientRect().left - b.getBoundingClientRect().left);
}

function distance(a, b) {
  return Math.abs(a.getBoundingClientRect().left - b.getBoundingClientRect().left);
}

/** One stop of the Tab key in each lane: the button that was last there. */
function makeStop(button) {
  for (const each of button.parentElement.querySelectorAll("button")) each.tabIndex = each === button ? 0 : -1;
}

for (const button of buttons) {
  button.dataset.text = button.title;
  button.setAttribute("aria-label", button.title.replace("\\n", ". "));
  button.removeAttribute("title");
  button.addEventListener("pointerenter", () => show(button));
  button.addEventListener("pointerleave", hide);
  button.addEventListener("click", () => show(button));
  button.addEventListener("focus", () => { makeStop(button); show(button); });
  button.addEventListener("blur", hide);
  button.addEventListener("keydown", (event) => go(event, button));
}
for (const track of document.querySelectorAll(".track")) {
  const [first] = ordered(track);
  if (first) makeStop(first);
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
window.addEventListener("scroll", () => { if (shown) show(shown); }, { passive: true });
`;
