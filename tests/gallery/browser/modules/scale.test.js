import { alike, format, fromUnit, ordered, title, toUnit } from "/static/scale.js";
import { paths, peak } from "/static/bands.js";
import { ramp, stretched } from "/static/colour.js";
import { described } from "/static/space.js";
import { close, equal, holds } from "./check.js";

const linear = { name: "x", type: "real", low: -2, high: 6 };
const log = { name: "rate", type: "real", low: 0.001, high: 10, log: true };
const whole = { name: "n", type: "integer", low: 3, high: 6 };

export const tests = {
  "there and back, on either scale": () => {
    for (const parameter of [linear, log]) {
      for (let i = 0; i <= 40; i++) close(toUnit(parameter, fromUnit(parameter, i / 40)), i / 40, 1e-12);
    }
  },
  "ends are exact, or a slider at its end would ask for less than the whole range": () => {
    for (const parameter of [linear, log, whole]) {
      equal([fromUnit(parameter, 0), fromUnit(parameter, 1)], [parameter.low, parameter.high]);
    }
  },
  "the middle of a logarithmic scale is the geometric mean": () => close(fromUnit(log, 0.5), 0.1, 1e-12),
  "integers stay integers": () => {
    for (let i = 0; i <= 20; i++) holds(Number.isInteger(fromUnit(whole, i / 20)), `${i}`);
  },
  "numbers as people write them": () => {
    equal([0.123456, 3, 1234567, 0.000123, 12.0, true, "oak"].map(format), ["0.123", "3", "1.2e6", "1.2e-4", "12", "yes", "oak"]);
  },
  "names as people write them": () => {
    equal(["ring_strength", "x", "LR", "__a__b"].map((name) => title({ name })), ["Ring strength", "X", "LR", "A b"]);
  },
  "two ends never cross": () => {
    equal(ordered(0.7, 0.5, "low"), [0.49, 0.5]);
    equal(ordered(0.7, 0.5, "high"), [0.7, 0.71]);
    equal(ordered(0, 0, "low"), [0, 0]);
    equal(ordered(0.2, 0.5, "low"), [0.2, 0.5]);
  },
  "alike is 1 for the same, 0 for opposite corners": () => {
    const space = [linear, log, { name: "wood", type: "categorical", choices: ["oak", "ash"] }];
    const [a, b] = [{ x: -2, rate: 0.001, wood: "oak" }, { x: 6, rate: 10, wood: "ash" }];
    equal(alike(space, a, a), 1);
    close(alike(space, a, b), 0, 1e-12);
    close(alike(space, a, { ...a, x: 6 }), 1 - Math.sqrt(1 / 3), 1e-12);
  },
  "a band lies about its mean and fills its box": () => {
    const slice = { grid: [-2, 2, 6], mean: [0, 1, 0.5], lower: [-1, 0, 0], upper: [1, 2, 1] };
    const drawn = paths(slice, (value) => toUnit(linear, value), 100, 30);
    equal(drawn.line, "M0,20L50,10L100,15");
    equal(drawn.band, "M0,10L50,0L100,10L100,20L50,20L0,30Z");
    equal(peak(slice), 2);
  },
  "a flat belief without width is drawn too": () => {
    const drawn = paths({ grid: [0, 1], mean: [1, 1], lower: [1, 1], upper: [1, 1] }, (u) => u, 10, 10);
    holds(!/NaN/.test(drawn.band + drawn.line), drawn.band);
  },
  "the colours of a map get lighter all the way, in both schemes": () => {
    for (const scheme of ["light", "dark"]) {
      let before = -1;
      for (let i = 0; i <= 60; i++) {
        const [r, g, b] = ramp(i / 60, scheme);
        const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        holds(light > before - 0.6, `${scheme} at ${i}`); // channels are whole numbers
        before = Math.max(before, light);
      }
    }
    equal(ramp(NaN), ramp(0));
  },
  "a table is stretched to 0…1": () => {
    equal(stretched([[2, 4], [3, 6]]), [[0, 0.5], [0.25, 1]]);
    equal(stretched([[7, 7]]), [[0.5, 0.5]]);
  },
  "the server's parameters": () => {
    const found = described({ name: "x", type: "real", fixed: null, low: 1, high: 2, full: { low: 0, high: 4 }, log: false });
    equal([found.low, found.high, found.now, found.value], [0, 4, [1, 2], null]);
    const fixed = described({ name: "x", type: "real", fixed: 0, low: 0, high: 0, full: { low: 0, high: 4 } });
    equal([fixed.now, fixed.value], [[0, 0], 0]);
    equal(described({ name: "b", type: "boolean", fixed: null, choices: [false, true] }).choices, [false, true]);
  },
};
