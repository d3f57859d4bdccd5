// The cards of a round: built once per card, brought up to date as the draft and the state change.

import { format, title } from "./scale.js";
import { h, icon, ICONS, s } from "./dom.js";
import { picture } from "./renderers.js";
import { visible } from "./draft.js";

const POINTED = new Set(["smoke", "image"]); // a frame and a video take clicks themselves, a table's text is selected
const SPREAD = 4; // likings that the bar shows, in noises of one choice: beyond it everything is "very"

/** The table of cards. `act` holds what a card can ask for: choose, point (at the picture), place, rate, favourite, pin, near, enlarge. */
export function table(root, act) {
  const shown = new Map();
  let open = false;
  // Parameters are compared between cards: they open together, and stay open in the next round.
  root.addEventListener("toggle", ({ target }) => {
    if (!target.matches(".values")) return;
    open = target.open;
    for (const { values } of shown.values()) values.open = open;
  }, true);

  function update(state, draft, space) {
    const cards = new Map(state.round.cards.map((card, i) => [card.id, { ...card, number: i + 1 }]));
    const ids = visible(draft);
    for (const [id, made] of shown) {
      if (cards.has(id)) continue;
      made.picture.stop();
      made.element.remove();
      shown.delete(id);
    }
    ids.forEach((id, i) => {
      if (!shown.has(id)) shown.set(id, build(cards.get(id), space, act));
      const { element, values } = shown.get(id);
      values.open = open;
      if (root.children[i] !== element) root.insertBefore(element, root.children[i] ?? null);
      refresh(shown.get(id), cards.get(id), draft, i, ids.length);
    });
    for (const [id, { element }] of shown) element.hidden = !ids.includes(id);
    root.dataset.mode = draft.mode;
    root.dataset.count = String(ids.length);
  }

  /** What takes the focus of a card: its main control in the present way of answering. */
  const main = (id) => [...(shown.get(id)?.element.querySelectorAll(".main") ?? [])].find((control) => !control.closest("[hidden]"));

  return { update, element: (id) => shown.get(id)?.element, main };
}

function build(card, space, act) {
  const drawn = picture(card, { space });
  const { id, number } = card;
  const view = h("div", { class: "view", data: { kind: card.render?.kind ?? "table" } }, drawn.element);
  if (POINTED.has(view.dataset.kind)) view.addEventListener("click", (event) => act.point(id, event));
  const parts = {
    rank: h("span", { class: "rank", hidden: true }),
    likes: h("div", { class: "likes", title: "How much you are expected to like it, and how unsure that is. 0 is the average of everything; at 1½ more, the better of two is told five times in six." }),
    why: h("p", { class: "why" }),
    choose: h("button", { type: "button", class: "main choose", onclick: () => act.choose(id) }, "This one"),
    grab: h("button", { type: "button", class: "main grab" }, icon(ICONS.grip), h("span", {})),
    earlier: tool("earlier", `Move card ${number} up the order`, () => act.shift(id, -1)),
    later: tool("later", `Move card ${number} down the order`, () => act.shift(id, 1)),
    stars: stars(card, act),
    slider: slider(card, act),
    favourite: tool("heart", `Keep card ${number} as a favourite`, () => act.favourite(id)),
    pin: tool("pin", `Pin card ${number}: deal it again`, () => act.pin(id)),
    near: tool("near", `More like card ${number}`, () => act.near(id)),
  };
  const large = tool("large", `See card ${number} large`, () => act.enlarge(id));
  const order = h("div", { class: "ordering" }, parts.earlier, parts.grab, parts.later);
  const values = h("details", { class: "values" }, h("summary", {}, "Parameters"), facts(card, space));
  const element = h("article", { class: "card", data: { id }, "aria-label": `Card ${number}` },
    view,
    h("span", { class: "number", "aria-hidden": "true" }, String(number)),
    parts.rank,
    h("div", { class: "body" }, parts.why, parts.likes, h("div", { class: "act" }, parts.choose, order, parts.stars, parts.slider),
      h("div", { class: "tools" }, parts.favourite, parts.pin, parts.near, large), card.render?.kind === "table" ? null : values));
  return { element, parts, order, values, picture: drawn };
}

function refresh({ element, parts, order }, card, draft, i, count) {
  const { mode } = draft;
  const ranked = mode === "order";
  parts.why.textContent = card.why ?? "";
  parts.why.dataset.kind = /explor/i.test(card.why ?? "") ? "new" : /liked|like what|best/i.test(card.why ?? "") ? "close" : "other";
  parts.likes.replaceChildren(...likes(card));
  parts.choose.hidden = mode !== "best" && mode !== "duel";
  parts.choose.setAttribute("aria-label", `This one: card ${card.number}`);
  order.hidden = !ranked;
  parts.rank.hidden = !ranked;
  parts.rank.textContent = ["1st", "2nd", "3rd"][i] ?? `${i + 1}th`;
  parts.grab.lastChild.textContent = parts.rank.textContent;
  parts.grab.setAttribute("aria-label", `Card ${card.number}, ${parts.rank.textContent} of ${count}: drag, or press [ and ]`);
  parts.earlier.disabled = i === 0;
  parts.later.disabled = i === count - 1;
  parts.stars.hidden = mode !== "stars";
  parts.slider.hidden = mode !== "slider";
  const rating = draft.ratings[card.id];
  for (const input of parts.stars.querySelectorAll("input")) {
    input.checked = mode === "stars" && Number(input.value) === rating;
    input.parentElement.dataset.lit = String(mode === "stars" && Number(input.value) <= (rating ?? 0));
  }
  const range = parts.slider.querySelector("input");
  if (mode === "slider") range.value = String(rating ?? 0.5);
  parts.slider.dataset.set = String(rating !== undefined);
  parts.slider.querySelector("output").textContent = rating === undefined ? "not rated" : `${Math.round(rating * 100)} %`;
  pressed(parts.favourite, card.favourite);
  pressed(parts.pin, card.pinned);
  element.dataset.pinned = String(Boolean(card.pinned));
}

/** Expected liking and how sure: a mark on a line from "less" to "more", its band one sd either way. */
function likes({ liking, sd }) {
  if (typeof liking !== "number") return [h("p", { class: "guess" }, "No expectation yet")];
  const x = (value) => 50 + 50 * Math.max(-1, Math.min(1, value / SPREAD));
  const sign = (value) => ({ "-1": "−", 0: "", 1: "+" })[Math.sign(Number(value.toFixed(1)))] + Math.abs(value).toFixed(1);
  const [from, to] = [x(liking - sd), x(liking + sd)];
  const bar = s("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" },
    s("line", { x1: 0, x2: 100, y1: 5, y2: 5, class: "axis" }),
    s("line", { x1: 50, x2: 50, y1: 1, y2: 9, class: "axis" }),
    s("rect", { x: from, width: Math.max(1, to - from), y: 2, height: 6, rx: 1, class: "band" }),
    s("rect", { x: x(liking) - 0.9, width: 1.8, y: 0, height: 10, class: "mean" }));
  return [bar, h("p", { class: "guess" }, h("span", {}, "Liking "), `${sign(liking)} ± ${sd.toFixed(1)}`)];
}

function facts(card, space) {
  return h("dl", { class: "facts" }, space.filter(({ name }) => name in card.params).map((parameter) =>
    h("div", {}, h("dt", {}, title(parameter)), h("dd", {}, String(card.shown?.[parameter.name] ?? format(card.params[parameter.name]))))));
}

function stars({ id, number }, act) {
  const one = (n) => {
    const input = h("input", { type: "radio", name: `stars-${id}`, value: n, class: n === 1 ? "main" : "", "aria-label": `${n} ${n === 1 ? "star" : "stars"}` });
    input.addEventListener("change", () => act.rate(id, n));
    return h("label", {}, input, h("span", { "aria-hidden": "true" }, "★"));
  };
  return h("fieldset", { class: "stars" }, h("legend", { class: "unseen" }, `Stars for card ${number}`), [1, 2, 3, 4, 5].map(one));
}

function slider({ id, number }, act) {
  const input = h("input", { type: "range", min: 0, max: 1, step: 0.05, class: "main", "aria-label": `How close card ${number} is` });
  input.addEventListener("input", () => act.rate(id, Number(input.value)));
  return h("div", { class: "rating" }, input, h("output", {}));
}

export function tool(name, label, onclick) {
  return h("button", { type: "button", class: "tool", title: label, "aria-label": label, onclick }, icon(ICONS[name]));
}

export function pressed(button, on) {
  button.setAttribute("aria-pressed", String(Boolean(on)));
}
