// The parameters: each range narrowed or fixed on a slider that shows the belief along it.

import { format, fromUnit, isRange, ordered, title, toUnit } from "./scale.js";
import { h, s } from "./dom.js";
import { paths, peak } from "./bands.js";

const STEPS = 1000; // of a slider's travel; finer than a pixel

/** The list of parameters in `root`; `narrow(body)` sends a change. */
export function ranges(root, { narrow }) {
  const rows = new Map();

  function update(space, cards) {
    for (const parameter of space) {
      if (!rows.has(parameter.name)) {
        rows.set(parameter.name, isRange(parameter) ? rangeRow(parameter, narrow) : choiceRow(parameter, narrow));
        root.append(rows.get(parameter.name).element);
      }
      rows.get(parameter.name).update(parameter, cards);
    }
  }

  return { update, belief: (name, slice) => rows.get(name)?.belief?.(slice), names: () => [...rows.keys()] };
}

function rangeRow(first, narrow) {
  let parameter = first;
  let slice = null;
  const name = title(first);
  const text = h("output", { class: "range-text" });
  const band = s("path", { class: "band" });
  const line = s("path", { class: "mean" });
  const marks = s("g", { class: "marks" });
  const chart = s("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", class: "along", role: "img", "aria-label": `Belief along ${name}: not known yet` },
    s("line", { x1: 0, x2: 100, y1: 29.5, y2: 29.5, class: "axis" }), band, line, marks);
  const outside = [h("div", { class: "outside left" }), h("div", { class: "outside right" })];
  const low = thumb(`${name}: least`, () => moved("low"), commit);
  const high = thumb(`${name}: most`, () => moved("high"), commit);
  const fix = h("button", { type: "button", class: "quiet small", "aria-pressed": "false", onclick: toggle }, "Fix");
  const all = h("button", { type: "button", class: "quiet small", onclick: () => narrow({ name: parameter.name, value: null }) }, "All");
  all.setAttribute("aria-label", `All of the range of ${name}`);
  const element = h("div", { class: "parameter", data: { name: first.name } },
    h("div", { class: "head" }, h("span", { class: "name" }, name), text, all, fix),
    h("div", { class: "track" }, chart, ...outside, low, high));

  const fixed = () => parameter.value !== null;
  const at = (input) => Number(input.value) / STEPS;

  function moved(which) {
    if (!fixed()) {
      const [a, b] = ordered(at(low), at(high), which);
      low.value = String(Math.round(a * STEPS));
      high.value = String(Math.round(b * STEPS));
    }
    told();
  }

  function commit() {
    if (fixed()) return narrow({ name: parameter.name, value: fromUnit(parameter, at(low)) });
    const [a, b] = [at(low), at(high)];
    const whole = a <= 0 && b >= 1;
    if (whole) return narrow({ name: parameter.name, value: null });
    return narrow({ name: parameter.name, low: fromUnit(parameter, a), high: fromUnit(parameter, b) });
  }

  function toggle() {
    if (fixed()) return narrow({ name: parameter.name, value: null });
    const middle = fromUnit(parameter, (at(low) + at(high)) / 2);
    const believed = slice ? peak(slice) : middle;
    return narrow({ name: parameter.name, value: Math.min(parameter.now[1], Math.max(parameter.now[0], believed)) });
  }

  function told() {
    const [a, b] = [at(low), fixed() ? at(low) : at(high)];
    const whole = !fixed() && a <= 0 && b >= 1;
    text.textContent = fixed() ? `= ${format(fromUnit(parameter, a))}` : `${format(fromUnit(parameter, a))} – ${format(fromUnit(parameter, b))}`;
    low.setAttribute("aria-valuetext", format(fromUnit(parameter, a)));
    high.setAttribute("aria-valuetext", format(fromUnit(parameter, b)));
    outside[0].style.setProperty("width", `${(fixed() ? 0 : a) * 100}%`);
    outside[1].style.setProperty("width", `${(fixed() ? 0 : 1 - b) * 100}%`);
    outside[0].hidden = fixed() || a <= 0;
    outside[1].hidden = fixed() || b >= 1;
    all.hidden = whole || fixed();
  }

  function update(next, cards) {
    parameter = next;
    const [from, to] = fixed() ? [next.value, next.value] : next.now;
    low.value = String(Math.round(toUnit(next, from) * STEPS));
    high.value = String(Math.round(toUnit(next, to) * STEPS));
    high.hidden = fixed();
    low.setAttribute("aria-label", fixed() ? `${name}: value` : `${name}: least`);
    element.dataset.fixed = String(fixed());
    fix.setAttribute("aria-pressed", String(fixed()));
    fix.textContent = fixed() ? "Fixed" : "Fix";
    fix.setAttribute("aria-label", `${fix.textContent}: ${name}`);
    marks.replaceChildren(...cards.filter((card) => typeof card.params[next.name] === "number").map((card) => {
      const x = toUnit(next, card.params[next.name]) * 100;
      return s("line", { x1: x, x2: x, y1: 24, y2: 30, class: "mark" });
    }));
    told();
  }

  function belief(found) {
    slice = found;
    const drawn = paths(found, (value) => toUnit(parameter, value), 100, 26);
    band.setAttribute("d", drawn.band);
    line.setAttribute("d", drawn.line);
    chart.setAttribute("aria-label", `Belief along ${name}: liking is expected to be highest near ${format(peak(found))}`);
  }

  return { element, update, belief };
}

function thumb(label, oninput, onchange) {
  const input = h("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": label });
  input.addEventListener("input", oninput);
  input.addEventListener("change", onchange);
  return input;
}

function choiceRow(first, narrow) {
  const name = title(first);
  const select = h("select", { "aria-label": name }, h("option", { value: "" }, "any"), first.choices.map((choice, i) =>
    h("option", { value: String(i) }, format(choice))));
  select.addEventListener("change", () => narrow({ name: first.name, value: select.value === "" ? null : first.choices[Number(select.value)] }));
  const constant = first.type === "constant";
  const text = h("output", { class: "range-text" }, constant ? `= ${format(first.value)}` : "");
  return {
    element: h("div", { class: "parameter", data: { name: first.name } }, h("div", { class: "head" }, h("span", { class: "name" }, name), constant ? text : select)),
    update(next) {
      select.value = next.value === null ? "" : String(next.choices.indexOf(next.value));
    },
  };
}
