// What opens over the page: the help, a card seen large. `dialog` elements: Escape closes them, focus goes back.

import { h } from "./dom.js";
import { format, title } from "./scale.js";
import { picture } from "./renderers.js";
import { TABLE } from "./keys.js";

const STORED = "credo-gallery-shortcuts";

/** Single keys can be switched off: they get in the way of speech input. */
export function shortcutsOn() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true; // storage may be forbidden; then they are on
  }
}

/** The help, and the switch in it. */
export function help() {
  const dialog = document.getElementById("help");
  document.getElementById("keys").replaceChildren(...TABLE.map(({ shown, does }) =>
    h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, shown)), h("td", {}, does))));
  const box = document.getElementById("shortcuts");
  box.checked = shortcutsOn();
  box.addEventListener("change", () => {
    try {
      localStorage.setItem(STORED, box.checked ? "on" : "off");
    } catch {
      // they are back when the page is loaded again
    }
  });
  return { toggle: () => (dialog.open ? dialog.close() : dialog.showModal()), on: () => box.checked };
}

/** One card, large and in its best quality. */
export function enlarged() {
  const dialog = document.getElementById("large");
  const body = document.getElementById("large-body");
  let drawn = null;
  dialog.addEventListener("close", () => {
    drawn?.stop();
    drawn = null;
    body.replaceChildren();
  });
  return {
    open(card, space) {
      if (dialog.open) dialog.close();
      drawn = picture(card, { space, quality: "high", large: true });
      document.getElementById("large-title").textContent = card.number ? `Card ${card.number}` : "A favourite";
      const values = space.filter(({ name }) => name in card.params).map((parameter) =>
        h("div", {}, h("dt", {}, title(parameter)), h("dd", {}, String(card.shown?.[parameter.name] ?? format(card.params[parameter.name])))));
      const view = h("div", { class: "view", data: { kind: card.render?.kind ?? "table" } }, drawn.element);
      body.replaceChildren(...(card.render?.kind === "table" ? [view] : [view, h("dl", { class: "facts" }, values)]));
      dialog.showModal();
    },
  };
}

/** Buttons that close the dialog they stand in. */
export function closers() {
  for (const button of document.querySelectorAll("[data-closes]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
}
