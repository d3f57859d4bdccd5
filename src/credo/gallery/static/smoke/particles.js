// Passive particles: born at the nozzle, carried by the field, faded by dissipation. Pure but for its own arrays.

import { atTime, field, random, velocity } from "./field.js";

export const WIDE = 8; // numbers a particle: x, y, z, age, life, size, shade, spare
const SCALE = 1.25; // heights; above this a particle has left the picture
const v = new Float64Array(3);

/** A plume of at most `most` particles. The same parameters and seed give the same smoke. */
export function plume(params, seed, most) {
  const flow = field(params, seed);
  return { flow, data: new Float32Array(most * WIDE), count: 0, most, next: random(seed + 7), time: 0, owed: 0 };
}

/** How long a particle lives on the mean, in seconds: until it has faded or left the picture. */
export const lifetime = ({ dissipation, rise }) => Math.min(2.2 / Math.max(dissipation, 0.05), 1.6 / Math.max(rise, 0.05));

/** The plume `seconds` later, with about `wanted` particles alive. */
export function advance(cloud, seconds, wanted) {
  const { flow, data } = cloud;
  cloud.time += seconds;
  atTime(flow, cloud.time);
  let alive = 0;
  for (let i = 0; i < cloud.count; i++) {
    const at = i * WIDE;
    const age = data[at + 3] + seconds;
    if (age > data[at + 4] || data[at + 2] > SCALE) continue;
    const to = alive * WIDE;
    if (to !== at) data.copyWithin(to, at, at + WIDE);
    move(flow, data, to, seconds);
    data[to + 3] = age;
    alive += 1;
  }
  cloud.count = Math.min(alive, wanted);
  born(cloud, seconds, Math.min(wanted, cloud.most));
  return cloud;
}

/** The plume as it is after `seconds`, in steps of a twelfth: what a card shows first, and all when motion is reduced. */
export function settled(cloud, seconds, wanted) {
  for (let t = 0; t < seconds; t += 1 / 12) advance(cloud, 1 / 12, wanted);
  return cloud;
}

function move(flow, data, at, seconds) {
  // Midpoint rule: Euler's spirals particles out of a ring.
  const [x, y, z] = [data[at], data[at + 1], data[at + 2]];
  velocity(flow, x, y, z, v);
  const half = seconds / 2;
  velocity(flow, x + v[0] * half, y + v[1] * half, z + v[2] * half, v);
  data[at] = x + v[0] * seconds;
  data[at + 1] = y + v[1] * seconds;
  data[at + 2] = z + v[2] * seconds;
}

function born(cloud, seconds, wanted) {
  const { data, next, flow } = cloud;
  const life = lifetime(flow.p);
  // Some leave the picture before their time: the fewer there are, the faster they are born.
  const hurry = 5 - (4 * cloud.count) / wanted;
  cloud.owed = Math.min(wanted - cloud.count, cloud.owed + (wanted / life) * hurry * seconds);
  for (; cloud.owed >= 1 && cloud.count < wanted; cloud.owed -= 1) {
    const at = cloud.count * WIDE;
    const radius = (0.02 + 0.3 * flow.p.spread) * Math.sqrt(next());
    const angle = 2 * Math.PI * next();
    data[at] = radius * Math.cos(angle);
    data[at + 1] = radius * Math.sin(angle);
    data[at + 2] = flow.p.rise * seconds * next() - 0.02; // spread over the step, or they rise in layers
    data[at + 3] = 0;
    data[at + 4] = life * (0.7 + 0.6 * next());
    data[at + 5] = 0.75 + 0.5 * next();
    data[at + 6] = next();
    cloud.count += 1;
  }
}
