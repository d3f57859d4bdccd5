import { atTime, DEFAULTS, field, random, velocity } from "/static/smoke/field.js";
import { governor, heard, LEAST, MOST, rate } from "/static/smoke/governor.js";
import { advance, plume, settled, WIDE } from "/static/smoke/particles.js";
import { FOUND, hidden, seen, start, told } from "/static/smoke/target.js";
import { alike } from "/static/scale.js";
import { close, equal, holds } from "./check.js";

const SPACE = Object.entries({
  ring_strength: [0.1, 3, true], ring_radius: [0.05, 0.35], ring_spacing: [0.15, 1], rise: [0.05, 0.8],
  noise_scale: [0.05, 0.6, true], noise_gain: [0, 1], spread: [0, 0.6], dissipation: [0.1, 2, true],
}).map(([name, [low, high, log = false]]) => ({ name, type: "real", low, high, log, value: null }));

const at = (flow, x, y, z) => [...velocity(flow, x, y, z, new Float64Array(3))];

/** Frames on a machine that needs `each` seconds a particle and draws at most `most` frames a second. */
function played(state, frames, each, most = 60) {
  for (let i = 0; i < frames; i++) {
    const worked = state.count * each * (0.4 + 0.6 * state.sharp ** 2);
    state = heard(state, Math.max(1 / most, worked), worked);
  }
  return state;
}

export const tests = {
  "the field has no divergence: smoke is neither made nor lost": () => {
    const next = random(5);
    for (let seed = 1; seed <= 6; seed++) {
      const flow = atTime(field(hidden(SPACE, seed), seed), 3.7);
      for (let i = 0; i < 40; i++) {
        const [x, y, z] = [next() - 0.5, next() - 0.5, 1.1 * next()];
        const e = 1e-4;
        const parts = [
          (at(flow, x + e, y, z)[0] - at(flow, x - e, y, z)[0]) / (2 * e),
          (at(flow, x, y + e, z)[1] - at(flow, x, y - e, z)[1]) / (2 * e),
          (at(flow, x, y, z + e)[2] - at(flow, x, y, z - e)[2]) / (2 * e),
        ];
        const size = Math.max(1, ...parts.map(Math.abs));
        close((parts[0] + parts[1] + parts[2]) / size, 0, 1e-3); // differences err by e² times third derivatives
      }
    }
  },
  "a ring pushes up through its middle and down outside": () => {
    const flow = field({ ...DEFAULTS, noise_gain: 0, rise: 0, ring_strength: 1.3, ring_radius: 0.2 });
    flow.rings.push({ z: 0.5, strength: 1.3 });
    const middle = at(flow, 0, 0, 0.5);
    close(middle[2], 1.3 * (0.2 / Math.hypot(0.2, 0.05)) ** 3, 1e-12); // Γ, but for the smoothed core
    holds(at(flow, 0.6, 0, 0.5)[2] < 0, "outside it comes down");
    holds(at(flow, 0.1, 0, 0.42)[0] < 0 && at(flow, 0.1, 0, 0.58)[0] > 0, "in below, out above");
  },
  "smoke is the same for the same seed": () => {
    const [a, b] = [3, 3].map((seed) => settled(plume({}, seed, 800), 2, 300));
    equal([...a.data.slice(0, a.count * WIDE)], [...b.data.slice(0, b.count * WIDE)]);
  },
  "particles: about as many as wanted, finite, none dead": () => {
    for (let seed = 1; seed <= 4; seed++) {
      const cloud = settled(plume(hidden(SPACE, seed), seed, 2000), 6, 500);
      holds(cloud.count > 300 && cloud.count <= 500, `${cloud.count} of 500 with seed ${seed}`);
      for (let i = 0; i < cloud.count; i++) {
        const row = cloud.data.subarray(i * WIDE, (i + 1) * WIDE);
        holds(row.every(Number.isFinite) && row[3] <= row[4], `particle ${i}: ${row}`);
      }
    }
  },
  "fewer are wanted: fewer there are, at once": () => {
    const cloud = settled(plume({}, 1, 2000), 4, 1000);
    equal(advance(cloud, 1 / 30, 200).count <= 200, true);
  },
  "the governor keeps a slow machine above fifteen frames": () => {
    for (const each of [1e-4, 1.5e-4, 3e-4]) {
      const state = played(governor({ start: 3000 }), 200, each);
      holds(rate(state) >= 15 || state.count === LEAST, `${rate(state)} frames at ${state.count}`);
    }
  },
  "sharpness goes before the particles that make it smoke": () => {
    const state = played(governor({ start: 500 }), 60, 0.08 / 500); // 12 frames a second to begin with
    holds(state.sharp < 1 && state.count === 500 && rate(state) >= 15, `${state.sharp}, ${state.count}, ${rate(state)}`);
  },
  "it mends quickly": () => {
    const state = played(governor({ start: 4000 }), 40, 1e-4); // 2.5 frames a second to begin with
    holds(rate(state) >= 15, `${rate(state)}`);
  },
  "500 particles that keep the pace are left alone": () => {
    const state = played(governor({ start: 500 }), 600, 0.035 / 500); // 28 frames a second, busy
    holds(state.count >= 500, `${state.count}`);
  },
  "a quick machine gets more": () => {
    const state = played(governor({ start: 500 }), 900, 1e-6);
    holds(state.count > 3000, `${state.count}`);
  },
  "it settles: no see-saw between too many and too few": () => {
    let state = played(governor({ start: 500 }), 1200, 2.2e-5);
    const counts = [];
    for (let i = 0; i < 600; i++) {
      state = played(state, 1, 2.2e-5);
      counts.push(state.count);
    }
    holds(Math.max(...counts) / Math.min(...counts) < 1.5, `${Math.min(...counts)} to ${Math.max(...counts)}`);
  },
  "within its limits, whatever it hears": () => {
    const next = random(11);
    let state = governor();
    for (let i = 0; i < 3000; i++) {
      state = heard(state, [0, -1, NaN, Infinity, 5, 0.2 * next()][Math.floor(6 * next())]);
      holds(state.count >= LEAST && state.count <= MOST && Number.isFinite(state.count), `${state.count}`);
    }
  },
  "a tab that slept is not a slow machine": () => {
    const before = played(governor(), 50, 2e-5);
    equal(heard(before, 40).count, before.count);
  },
  "a hidden target: the same for a seed, inside the space": () => {
    equal(hidden(SPACE, 42), hidden(SPACE, 42));
    for (const { name, low, high } of SPACE) holds(hidden(SPACE, 9)[name] > low && hidden(SPACE, 9)[name] < high, name);
  },
  "chance does not find it": () => {
    const target = hidden(SPACE, 1);
    let found = 0;
    for (let seed = 2; seed < 2002; seed++) found += alike(SPACE, hidden(SPACE, seed), target) >= FOUND;
    holds(found <= 20, `${found} of 2000 points are a find`);
  },
  "rounds are counted from the start to the find, and stay": () => {
    let game = start(7, 10);
    const near = { params: hidden(SPACE, 7) };
    const far = { params: hidden(SPACE, 8) };
    game = seen(game, SPACE, [far], 10);
    equal(game.found, null);
    holds(told(game, 10).startsWith("Round 1."), told(game, 10));
    game = seen(game, SPACE, [far, near], 13);
    equal([game.found, game.best], [4, 1]);
    game = seen(game, SPACE, [far], 15);
    equal(told(game, 15), "Found in 4 rounds: 100 % alike.");
  },
};
