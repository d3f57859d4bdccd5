// The particle governor: how many particles each card may have, and how sharply they are drawn, so that the page keeps
// its frames. Pure.
//
// It hears how long each frame took. Slow frames first cost sharpness, which soft smoke misses least, then particles, at
// once and in proportion; quick frames bring particles by steps, after a while without a slow one, and less boldly near
// a number that failed.

export const LEAST = 200; // below this it is dust, not smoke
export const MOST = 6000;
const PLENTY = 800; // particles: above this their number is cut before their sharpness
const BLUNTEST = 0.5; // of the pixels that the card has, by height

/** A governor that starts at `start` particles a card and aims at `target` frames a second. */
export function governor({ start = 500, target = 24, least = LEAST, most = MOST } = {}) {
  return { count: clamp(start, least, most), sharp: 1, target, least, most, mean: 0, seen: 0, calm: 0, ceiling: most };
}

/** The governor after a frame that took `seconds`, of which `worked` were spent computing; a new record. */
export function heard(state, seconds, worked = seconds) {
  if (!(seconds > 0) || seconds > 1) return { ...state, calm: 0 }; // a tab that slept says nothing
  const seen = state.seen + 1;
  const weight = Math.max(0.12, 1 / seen);
  const mean = state.mean + weight * (seconds - state.mean);
  const next = { ...state, seen, mean };
  if (seen < 6) return next; // the first frames compile shaders
  const slow = mean * state.target;
  if (slow > 1.15) return cut(next, slow);
  // Frames wait for the screen, so that a quick machine shows by how little of one it works, not by shorter frames.
  const busy = worked * state.target;
  if (slow < 1.05 && busy < 0.5) return raised(next, state.calm + 1);
  return { ...next, calm: 0 };
}

/** Frames a second, as heard lately. */
export const rate = (state) => (state.mean > 0 ? 1 / state.mean : 0);

function cut(state, slow) {
  if (state.sharp > BLUNTEST && state.count <= PLENTY) {
    return { ...state, sharp: Math.max(BLUNTEST, state.sharp * 0.7), calm: 0, seen: 4, mean: state.mean / Math.min(2, slow) };
  }
  const count = clamp(Math.round(state.count / Math.min(2, slow)), state.least, state.most);
  const ceiling = Math.max(state.least, Math.min(state.ceiling, state.count));
  // Judged afresh at the new number: the old mean would cut again for what has been mended.
  return { ...state, count, ceiling, calm: 0, seen: 4, mean: state.mean / Math.min(2, slow) };
}

function raised(state, calm) {
  if (calm < 30) return { ...state, calm };
  const near = state.count > 0.8 * state.ceiling;
  const count = clamp(Math.round(state.count * (near ? 1.03 : 1.2)), state.least, state.most);
  return { ...state, count, ceiling: near ? Math.max(state.ceiling, count) : state.ceiling, calm: 0 };
}

const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
