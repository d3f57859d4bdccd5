// A slice through the belief in two parameters: liking and how unsure, side by side.

import { format, isRange, title, toUnit } from "./scale.js";
import { h } from "./dom.js";
import { ramp, stretched } from "./colour.js";

/** The map in `root`; `fetchMap(a, b)` gives the server's answer. */
export function map(root, { fetchMap }) {
  const pick = (label) => h("select", { "aria-label": label });
  const [a, b] = [pick("Across"), pick("Up")];
  const plots = [plot("Expected liking"), plot("Uncertainty")];
  const words = h("p", { class: "note" }, "");
  root.append(h("div", { class: "axes" }, h("label", {}, "Across ", a), h("label", {}, "Up ", b)),
    h("div", { class: "plots" }, plots.map(({ element }) => element)), words);
  let space = [];
  let cards = [];
  let drawn = null;
  let turn = 0;
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", () => drawn && draw());
  for (const select of [a, b]) select.addEventListener("change", show);

  function update(nextSpace, nextCards) {
    space = nextSpace.filter(isRange);
    cards = nextCards;
    if (!a.options.length) {
      for (const select of [a, b]) select.append(...space.map((p) => h("option", { value: p.name }, title(p))));
      if (space.length > 1) b.selectedIndex = 1;
    }
    root.hidden = space.length < 2;
  }

  async function show() {
    if (space.length < 2) return;
    if (a.value === b.value) b.selectedIndex = (a.selectedIndex + 1) % b.options.length;
    const mine = ++turn;
    try {
      const found = await fetchMap(a.value, b.value);
      if (mine === turn) {
        drawn = found;
        draw();
      }
    } catch (error) {
      words.textContent = error.message;
    }
  }

  function draw() {
    const { mean, sd } = drawn;
    const [x, y] = [drawn.a.grid, drawn.b.grid];
    const [across, up] = [drawn.a.name, drawn.b.name].map((name) => space.find((p) => p.name === name));
    const tables = [stretched(mean), stretched(sd)];
    plots.forEach(({ canvas }, i) => paint(canvas, tables[i], scheme.matches ? "dark" : "light"));
    plots.forEach(({ marks }) => marks.replaceChildren(...cards.map((card, i) => mark(card, i, across, up))));
    const [row, column] = highest(mean);
    words.textContent = `Liking is expected to be highest near ${title(across)} ${format(x[column])} and ${title(up)} ${format(y[row])}; the other parameters as in the best point so far.`;
    plots[0].canvas.setAttribute("aria-label", words.textContent);
    const [unsureRow, unsureColumn] = highest(sd);
    plots[1].canvas.setAttribute("aria-label", `Least is known near ${title(across)} ${format(x[unsureColumn])} and ${title(up)} ${format(y[unsureRow])}.`);
  }

  return { update, show };
}

function plot(name) {
  const canvas = h("canvas", { role: "img", "aria-label": `${name}: not drawn yet` });
  const marks = h("div", { class: "marks", "aria-hidden": "true" });
  const scale = h("div", { class: "scale", "aria-hidden": "true" }, h("span", {}, "less"), h("span", { class: "ramp" }), h("span", {}, "more"));
  return { canvas, marks, element: h("figure", {}, h("figcaption", {}, name), h("div", { class: "plane" }, canvas, marks), scale) };
}

function paint(canvas, rows, scheme) {
  canvas.width = rows[0].length;
  canvas.height = rows.length;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  rows.forEach((row, j) => row.forEach((u, i) => {
    image.data.set([...ramp(u, scheme), 255], ((rows.length - 1 - j) * row.length + i) * 4);
  }));
  context.putImageData(image, 0, 0);
}

function mark(card, i, across, up) {
  const [u, v] = [across, up].map((p) => toUnit(p, card.params[p.name]));
  const within = (share) => `clamp(.55rem, ${share * 100}%, calc(100% - .55rem))`; // whole, also at the rim
  return h("span", { style: { left: within(u), bottom: within(v) } }, String(i + 1));
}

function highest(rows) {
  let at = [0, 0];
  rows.forEach((row, j) => row.forEach((value, i) => {
    if (value > rows[at[0]][at[1]]) at = [j, i];
  }));
  return at;
}
