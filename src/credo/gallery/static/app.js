// The page: state from the server in, answers out. Each part draws itself; this file only introduces them.

import { client, newKey } from "./api.js";
import { begin, chosen, finished, MODES, place, rate, ready, shift, tied, visible } from "./draft.js";
import { meaning } from "./keys.js";
import { table } from "./cards.js";
import { draggable } from "./drag.js";
import { ranges } from "./ranges.js";
import { map } from "./map.js";
import { described } from "./space.js";
import { closers, enlarged, help } from "./dialogs.js";
import { favourites, game, status } from "./side.js";
import { h } from "./dom.js";
import { stage } from "./smoke/stage.js";

const $ = (id) => document.getElementById(id);
const api = client({ onTrouble: trouble });
const tabs = "BroadcastChannel" in window ? new BroadcastChannel("credo-gallery") : null;

let state = JSON.parse($("state").textContent || "null");
let space = [];
let draft = null;
let picked = 0; // how many cards have been put in order by number keys
let focus = null; // the card in focus
let busy = false;
let asked = new AbortController();
let believed = null; // the state whose beliefs were asked for

// -- what is drawn ------------------------------------------------------------------------------------------------

const parts = {
  cards: table($("cards"), {
    choose: (id) => answer(chosen(draft, id), id),
    point: (id, { detail }) => single() && detail < 2 && answer(chosen(draft, id), id), // the second click of a double one is none
    shift: (id, step) => redraft(shift(draft, id, step), id),
    rate: (id, value) => redraft(rate(draft, id, value)),
    favourite: (id) => change("favourite", { card: id, favourite: !card(id).favourite }),
    pin: (id) => change("pin", { card: id, pinned: !card(id).pinned }),
    near: (id) => change("near", { card: id }),
    enlarge: (id) => large.open({ ...card(id), number: state.round.cards.indexOf(card(id)) + 1 }, space),
  }),
  ranges: ranges($("ranges"), { narrow: (body) => change("narrow", body) }),
  map: map($("map"), { fetchMap: (a, b) => api.get(`/api/map?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`) }),
  status: status({ join: (name) => change("person", { name }).then(() => look(focus)), become: (id) => change("person", { id }) }),
  favourites: favourites({
    drop: (id) => change("favourite", { card: id, favourite: false }),
    begin: (id) => change("start", { cards: [id] }),
    enlarge: (favourite) => large.open(favourite, space),
  }),
  game: game(),
};
const helped = help();
const large = enlarged();

const single = () => draft.mode === "best" || draft.mode === "duel";
const card = (id) => state.round.cards.find((one) => one.id === id);

function received(next, { keep = false } = {}) {
  const before = state?.round.id;
  state = next;
  space = state.space.map(described);
  belongs(state.session);
  const ids = state.round.cards.map(({ id }) => id);
  const mode = draft?.mode ?? "best";
  if (!draft || before !== state.round.id || !keep) {
    const at = draft ? Math.max(0, visible(draft).indexOf(focus)) : 0;
    draft = begin(mode, ids);
    picked = 0;
    focus = visible(draft)[Math.min(at, visible(draft).length - 1)];
  }
  drawn();
  parts.ranges.update(space, state.round.cards);
  parts.status(state);
  parts.favourites(state, space);
  parts.game(state, space);
  parts.map.update(space, state.round.cards);
  $("undo").disabled = !state.can_undo;
  $("redo").disabled = !state.can_redo;
  $("dial").value = String(state.dial);
  $("near").hidden = !state.near;
  beliefs();
}

/** Whose page this is: requests say so, and a permalink follows when somebody else sits down. */
function belongs(session) {
  document.body.dataset.session = session;
  const link = `/s/${encodeURIComponent(session)}`;
  if (location.pathname.startsWith("/s/") && location.pathname !== link) history.replaceState(null, "", link);
}

function drawn() {
  parts.cards.update(state, draft, space);
  $("ask").textContent = MODES[draft.mode].ask;
  for (const input of document.querySelectorAll("input[name=mode]")) input.checked = input.value === draft.mode;
  $("send").hidden = single();
  $("send").disabled = !ready(draft);
  $("tie").textContent = draft.mode === "duel" ? "Both alike" : "All alike";
  $("none").textContent = draft.mode === "duel" ? "Neither" : "None of them";
}

function redraft(next, focused = null) {
  draft = next;
  drawn();
  if (focused) look(focused);
}

/** Beliefs along the parameters and the map, where they are open: they follow the answer, the cards do not wait for them. */
async function beliefs() {
  asked.abort();
  asked = new AbortController();
  const { signal } = asked;
  if ($("map-fold").open) parts.map.show();
  if (!$("ranges-fold").open) return;
  believed = state;
  try {
    for (const { name, type } of space) {
      if (type !== "real" && type !== "integer") continue;
      parts.ranges.belief(name, await api.get(`/api/slice?name=${encodeURIComponent(name)}`, signal));
      if (signal.aborted) return;
    }
  } catch (error) {
    // Superseded, or away: the bands stay as they were, and the next state asks again.
    if (error.name !== "AbortError" && error.status !== undefined) say(error.message);
  }
}

// -- what is done -------------------------------------------------------------------------------------------------

async function post(path, body) {
  try {
    received(await api.post(`/api/${path}`, body), { keep: true });
    tabs?.postMessage(state.session);
    return true;
  } catch (error) {
    say(error.message);
    if (error.status === 409 || error.status === 404) received(await api.state());
    return false;
  }
}

/** A change that may come with an answer still on its way. */
const change = (path, body) => post(path, body);

async function answer(body, id = null) {
  if (busy) return; // a second press for the same round
  busy = true;
  document.body.dataset.busy = "true";
  if (id) parts.cards.element(id)?.classList.add("taken");
  const held = focusedCard();
  const well = await post("answer", { round: state.round.id, key: newKey(), ...body });
  busy = false;
  delete document.body.dataset.busy;
  for (const element of document.querySelectorAll(".taken")) element.classList.remove("taken");
  if (well) told(`Round ${state.round.number}. ${Math.round(state.sure * 100)} % sure.`);
  if (well && held) look(focus);
}

function setMode(mode) {
  const held = focusedCard();
  draft = begin(mode, state.round.cards.map(({ id }) => id));
  picked = 0;
  if (!visible(draft).includes(focus)) focus = visible(draft)[0];
  drawn();
  if (held) look(focus); // its control of the former way is gone
}

function send() {
  if (ready(draft)) answer(finished(draft));
}

const focusedCard = () => document.activeElement?.closest?.(".card")?.dataset.id ?? null;

function look(id) {
  focus = id;
  parts.cards.main(id)?.focus();
}

function move(step) {
  const ids = visible(draft);
  const at = ids.indexOf(focusedCard() ?? "");
  look(ids[at < 0 ? Math.max(0, ids.indexOf(focus)) : (at + step + ids.length) % ids.length]);
}

function digit(n) {
  const id = draft.dealt[n - 1];
  const here = focusedCard() ?? focus;
  if (draft.mode === "stars") {
    if (n <= 5) rated(here, n);
  } else if (draft.mode === "slider") rated(here, n / 10);
  else if (!id || !visible(draft).includes(id)) return;
  else if (draft.mode === "order") {
    redraft(place(draft, id, picked), id);
    picked = (picked + 1) % draft.order.length;
  } else answer(chosen(draft, id), id);
}

function rated(id, value) {
  const ids = visible(draft);
  redraft(rate(draft, id, value), ids[Math.min(ids.length - 1, ids.indexOf(id) + 1)]);
}

const here = () => focusedCard() ?? focus;
const ACTIONS = {
  previous: () => move(-1),
  next: () => move(1),
  enter: () => (single() ? answer(chosen(draft, here()), here()) : send()),
  earlier: () => draft.mode === "order" && redraft(shift(draft, here(), -1), here()),
  later: () => draft.mode === "order" && redraft(shift(draft, here(), 1), here()),
  tie: () => answer(tied(draft)),
  none: () => answer({ kind: "none" }),
  skip: () => answer({ kind: "skip" }),
  undo: () => state.can_undo && post("undo", {}),
  redo: () => state.can_redo && post("redo", {}),
  favourite: () => change("favourite", { card: here(), favourite: !card(here()).favourite }),
  pin: () => change("pin", { card: here(), pinned: !card(here()).pinned }),
  near: () => change("near", { card: here() }),
  enlarge: () => large.open({ ...card(here()), number: draft.dealt.indexOf(here()) + 1 }, space),
  mode: () => {
    const modes = Object.keys(MODES);
    setMode(modes[(modes.indexOf(draft.mode) + 1) % modes.length]);
  },
  help: () => helped.toggle(),
};

document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (document.querySelector("dialog[open]") && event.key !== "?") return;
  // Stars and sliders keep their arrows; letters and digits mean there what they mean everywhere.
  const drawn = ["radio", "range"].includes(target.type);
  const typing = drawn ? event.key.startsWith("Arrow") : target.type !== "checkbox" && target.matches?.("input, select, textarea");
  const found = meaning({ key: event.key, ctrlKey: event.ctrlKey, metaKey: event.metaKey, altKey: event.altKey, typing, on: helped.on() });
  if (!found) return;
  // Enter on any other button is that button's.
  if (found === "enter" && target.closest?.("button, a, summary") && !target.closest(".grab")) return;
  if (event.repeat && found !== "previous" && found !== "next") return;
  event.preventDefault();
  if (typeof found === "object") digit(found.digit);
  else ACTIONS[found]();
});

$("cards").addEventListener("focusin", () => {
  focus = focusedCard() ?? focus;
});
draggable($("cards"), { active: () => draft.mode === "order", onPlace: (id, at) => redraft(place(draft, id, at)) });
for (const input of document.querySelectorAll("input[name=mode]")) input.addEventListener("change", () => setMode(input.value));
for (const name of ["tie", "none", "skip", "undo", "redo"]) $(name).addEventListener("click", () => ACTIONS[name]());
$("send").addEventListener("click", send);
$("near-end").addEventListener("click", () => change("near", { card: null }));
$("dial").addEventListener("change", () => change("dial", { dial: Number($("dial").value) }));
$("open-help").addEventListener("click", () => helped.toggle());
$("ranges-fold").addEventListener("toggle", () => $("ranges-fold").open && believed !== state && beliefs());
$("map-fold").addEventListener("toggle", () => $("map-fold").open && parts.map.show());
$("copy").addEventListener("click", async () => {
  const link = new URL(`/s/${encodeURIComponent(state.session)}`, location.href).href;
  await navigator.clipboard.writeText(link).then(() => say("Copied: it opens this session."), () => say(link));
});

// -- what is said -------------------------------------------------------------------------------------------------

/** For everybody, and it goes away. */
function say(text) {
  const note = h("p", {}, text);
  $("notes").append(note);
  setTimeout(() => note.remove(), 7000);
}

/** For those who listen. */
function told(text) {
  $("said").textContent = text;
}

function trouble(text) {
  $("trouble").hidden = !text;
  $("trouble").textContent = text ?? "";
}

// -- other tabs ---------------------------------------------------------------------------------------------------

async function again() {
  if (busy || document.hidden) return;
  const fresh = await api.state();
  if (!busy) received(fresh, { keep: fresh.round.id === state.round.id });
}

tabs?.addEventListener("message", ({ data }) => data === state.session && again().catch(() => {}));
document.addEventListener("visibilitychange", () => again().catch(() => {}));

setInterval(() => {
  const { cards, particles, rate: fps, moving } = stage().stats();
  $("frames").textContent = cards && moving && fps ? `${particles} particles a card, ${Math.round(fps)} frames a second` : "";
}, 1000);

closers();
for (const dialog of document.querySelectorAll("dialog")) {
  // Without this the focus may stay on what is no longer seen, and the next key is lost.
  dialog.addEventListener("close", () => (dialog.contains(document.activeElement) || document.activeElement === document.body) && look(focus));
}
if (matchMedia("(min-width: 64rem)").matches) $("ranges-fold").open = true;
if (state) received(state);
else api.state().then(received, (error) => say(error.message));
