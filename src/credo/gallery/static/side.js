// What stands beside the cards: how sure the page is, people, favourites, the best so far, the hidden target.

import { h } from "./dom.js";
import { tool } from "./cards.js";
import { picture } from "./renderers.js";
import { hidden, seen, start, told } from "./smoke/target.js";

const $ = (id) => document.getElementById(id);

/** Sureness, number of answers, people. */
export function status({ join, become }) {
  const select = $("person");
  select.addEventListener("change", () => (select.value === "+" ? $("newcomer").showModal() : become(select.value)));
  $("newcomer").addEventListener("close", () => { select.value = select.dataset.now; });
  $("newcomer-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("newcomer-name").value.trim();
    if (!name) return;
    $("newcomer").close();
    $("newcomer-form").reset();
    join(name);
  });
  return (state) => {
    const percent = Math.round(state.sure * 100);
    $("sure").value = state.sure;
    $("sure").textContent = `${percent} %`;
    $("sure-text").textContent = `${percent} % sure`;
    $("answers").textContent = `${state.answers} ${state.answers === 1 ? "answer" : "answers"}`;
    $("round").textContent = `Round ${state.round.number ?? state.answers + 1}`;
    select.replaceChildren(...state.people.map(({ id, name }) => h("option", { value: id }, name)), h("option", { value: "+" }, "Somebody else …"));
    select.dataset.now = select.value = state.person.id;
  };
}

/** A list of small cards: favourites. */
export function favourites({ drop, begin, enlarge }) {
  const root = $("favourites");
  const made = new Map();
  return (state, space) => {
    const now = new Map(state.favourites.map((card) => [card.id, card]));
    for (const [id, { element, drawn }] of made) {
      if (now.has(id)) continue;
      drawn.stop();
      element.remove();
      made.delete(id);
    }
    let n = 0;
    for (const card of now.values()) {
      n += 1;
      if (!made.has(card.id)) {
        const drawn = picture(card, { space });
        const view = h("div", { class: "view", data: { kind: card.render?.kind ?? "table" } }, drawn.element);
        const element = h("li", {}, view, h("div", { class: "tools" },
          h("button", { type: "button", class: "quiet small", "aria-label": `Start from it: favourite ${n}`, onclick: () => begin(card.id) }, "Start from it"),
          tool("large", `See favourite ${n} large`, () => enlarge(card)),
          tool("heart", `Favourite ${n}: no longer`, () => drop(card.id))));
        element.querySelector(".tool:last-child").setAttribute("aria-pressed", "true");
        made.set(card.id, { element, drawn });
        root.append(element);
      }
    }
    $("favourites-none").hidden = n > 0;
    $("favourites-count").textContent = n ? ` (${n})` : "";
  };
}

/** The hidden target: remembered by the browser, one a session. */
export function game({ stored = window.localStorage } = {}) {
  const root = $("target");
  let state = null;
  let space = [];
  let played = null;
  let drawn = null;
  const key = () => `credo-gallery-target-${state.session}`;

  const load = () => {
    try {
      return JSON.parse(stored.getItem(key()));
    } catch {
      return null;
    }
  };
  const save = () => {
    try {
      if (played) stored.setItem(key(), JSON.stringify(played));
      else stored.removeItem(key());
    } catch {
      // the game then lasts as long as the page
    }
  };

  $("target-start").addEventListener("click", () => {
    played = start(crypto.getRandomValues(new Uint32Array(1))[0] % 100000, state.answers);
    step();
  });
  $("target-stop").addEventListener("click", () => {
    played = null;
    save();
    show();
  });

  function step() {
    played = seen(played, space, state.round.cards, state.answers);
    save();
    show();
  }

  function show() {
    const on = played !== null;
    root.dataset.on = String(on);
    $("target-view").hidden = !on;
    $("target-stop").hidden = !on;
    $("target-start").textContent = on ? "Another target" : "Hide a target";
    $("target-text").textContent = on ? told(played, state.answers) : "A game: a smoke with hidden parameters. How many rounds until a card looks like it?";
    if ((drawn?.seed ?? null) === (played?.seed ?? null)) return;
    drawn?.stop();
    drawn = null;
    $("target-view").replaceChildren();
    if (!on) return;
    const params = hidden(space, played.seed);
    drawn = { seed: played.seed, ...picture({ params, render: { kind: "smoke" } }) };
    drawn.element.setAttribute("aria-label", "The target");
    $("target-view").append(drawn.element);
  }

  return (next, nextSpace) => {
    const fresh = state?.session !== next.session;
    [state, space] = [next, nextSpace];
    root.hidden = state.round.cards[0]?.render?.kind !== "smoke";
    if (root.hidden) return;
    if (fresh) played = load();
    if (played) step();
    else show();
  };
}
