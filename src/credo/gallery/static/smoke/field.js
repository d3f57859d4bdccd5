// The smoke's velocity: the curl of a vector potential, so that no smoke is made or lost by the flow. Pure.
//
// The potential is a sum of vortex rings that rise along the z axis and of a noise that grows with height:
//   A(x) = Σ_r A_r(ρ, z − z_r) e_φ + g(z) Σ_k a_k cos(k·x + ωt + φ_k)
//   A_r  = Γ R³ ρ / (2 ((ρ + R)² + z² + c²)^{3/2})     (a current loop's potential, its core smoothed by c)
// and the whole rises at a steady speed. Γ is the speed in the middle of a ring, in heights of the picture a second: the
// column stands on z = 0 and leaves the picture at z = 1.

export const DEFAULTS = {
  ring_strength: 0.8,
  ring_radius: 0.2,
  ring_spacing: 0.5,
  rise: 0.35,
  noise_scale: 0.3, // length of the eddies
  noise_gain: 0.4,
  dissipation: 0.5,
  spread: 0.2, // of the source: its radius is 0.02 + 0.3 spread
};

const CORE = 0.05; // softens a ring's middle line; below it particles leap
const MODES = 10; // waves of the noise: with fewer the eye sees a pattern, more cost time
const FADE_IN = 0.12; // a ring grows over this height, so that it does not burst out of nothing

/** Numbers in [0, 1) from a seed: small, fast, the same everywhere (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A field for parameters and a seed; give it to `velocity` with a time set by `atTime`. */
export function field(params, seed = 1) {
  const p = { ...DEFAULTS, ...params };
  const next = random(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const waves = new Float64Array(MODES * 8); // k (3), a (3), phase, frequency
  for (let m = 0; m < MODES; m++) {
    const at = m * 8;
    // Octaves about the scale asked for; the amplitude of the potential falls so that each stirs alike.
    const size = ((2 * Math.PI) / p.noise_scale) * 2 ** (next() * 1.6 - 1);
    const direction = [normal(), normal(), normal()];
    const norm = Math.hypot(...direction) || 1;
    const loud = 0.4 / size;
    for (let i = 0; i < 3; i++) {
      waves[at + i] = (direction[i] / norm) * size;
      waves[at + 3 + i] = normal() * loud;
    }
    waves[at + 6] = 2 * Math.PI * next();
    waves[at + 7] = (0.4 + 0.8 * next()) / Math.sqrt(p.noise_scale);
  }
  return { p, waves, rings: [], time: 0 };
}

/** The field moved to `time` in seconds: rings rise, one every `ring_spacing` heights. */
export function atTime(flow, time) {
  const { ring_spacing: spacing, rise, ring_strength: strength } = flow.p;
  flow.time = time;
  flow.rings.length = 0;
  const gap = Math.max(0.05, spacing);
  for (let z = (rise * time) % gap; z < 1.25; z += gap) {
    flow.rings.push({ z, strength: strength * smooth(z / FADE_IN) });
  }
  return flow;
}

/** The velocity at (x, y, z), in heights a second, written into `out`. */
export function velocity(flow, x, y, z, out) {
  out[0] = 0;
  out[1] = 0;
  out[2] = flow.p.rise;
  addRings(flow, x, y, z, out);
  if (flow.p.noise_gain > 0) addNoise(flow, x, y, z, out);
  return out;
}

function addRings({ rings, p }, x, y, z, out) {
  const R = p.ring_radius;
  const rho = Math.hypot(x, y);
  for (const ring of rings) {
    const dz = z - ring.z;
    const q = (rho + R) * (rho + R) + dz * dz + CORE * CORE;
    const root = Math.sqrt(q);
    const scale = (ring.strength * R * R * R) / (2 * q * root);
    const radial = (3 * scale * dz) / q; // u_ρ / ρ = −∂A/∂z / ρ
    out[0] += radial * x;
    out[1] += radial * y;
    out[2] += 2 * scale - (3 * scale * rho * (rho + R)) / q; // (1/ρ) ∂(ρA)/∂ρ
  }
}

function addNoise({ waves, p, time }, x, y, z, out) {
  const t = Math.min(1, Math.max(0, z / 0.6));
  const gain = p.noise_gain * (0.15 + 0.85 * t * t * (3 - 2 * t));
  const slope = t > 0 && t < 1 ? (p.noise_gain * 0.85 * 6 * t * (1 - t)) / 0.6 : 0;
  for (let m = 0; m < MODES; m++) {
    const at = m * 8;
    const kx = waves[at];
    const ky = waves[at + 1];
    const kz = waves[at + 2];
    const ax = waves[at + 3];
    const ay = waves[at + 4];
    const az = waves[at + 5];
    const angle = kx * x + ky * y + kz * z + waves[at + 6] + waves[at + 7] * time;
    const s = -gain * Math.sin(angle);
    const c = slope * Math.cos(angle);
    // ∇×(g a cos) = −g sin (k × a) + g' cos (e_z × a)
    out[0] += s * (ky * az - kz * ay) - c * ay;
    out[1] += s * (kz * ax - kx * az) + c * ax;
    out[2] += s * (kx * ay - ky * ax);
  }
}

function smooth(t) {
  const u = Math.min(1, Math.max(0, t));
  return u * u * (3 - 2 * u);
}
