// Colour of a number in 0…1, dark to light in the house's palette; monotone in lightness, so that grey print still reads.
// Pure.

const STOPS = {
  light: [[61, 31, 92], [23, 102, 179], [111, 178, 214], [246, 233, 190]],
  dark: [[30, 22, 44], [33, 84, 140], [102, 174, 234], [242, 230, 176]],
};

/** [red, green, blue], each 0–255. */
export function ramp(u, scheme = "light") {
  const stops = STOPS[scheme];
  const at = Math.min(1, Math.max(0, Number.isFinite(u) ? u : 0)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  return stops[i].map((from, channel) => Math.round(from + (at - i) * (stops[i + 1][channel] - from)));
}

/** Numbers of a table stretched to 0…1; a flat table is all ½. */
export function stretched(rows) {
  const all = rows.flat();
  const low = Math.min(...all);
  const high = Math.max(...all);
  return rows.map((row) => row.map((value) => (high > low ? (value - low) / (high - low) : 0.5)));
}
