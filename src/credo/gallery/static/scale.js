// One parameter's scale: between values and the unit interval, and as text. Pure.

/** Where `value` lies in the parameter's whole range, 0 to 1. */
export function toUnit(parameter, value) {
  const { low, high, log } = parameter;
  const u = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.min(1, Math.max(0, u));
}

/** The value at `u` of the whole range; integers are rounded. */
export function fromUnit(parameter, u) {
  const { low, high, log, type } = parameter;
  if (u <= 0) return low;
  if (u >= 1) return high;
  const value = log ? low * (high / low) ** u : low + u * (high - low);
  return type === "integer" ? Math.round(value) : value;
}

export const isRange = (parameter) => parameter.type === "real" || parameter.type === "integer";

/** A value as people write it: three significant digits are all that a slider can set. */
export function format(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(1).replace("e+", "e");
  return String(Number(value.toPrecision(3)));
}

/** A parameter's name for people: `ring_strength` is "Ring strength". */
export function title(parameter) {
  if (parameter.label) return parameter.label;
  const words = parameter.name.replaceAll(/[_\s]+/g, " ").trim();
  return words ? words[0].toUpperCase() + words.slice(1) : parameter.name;
}

/** Two ends kept in order and at least `gap` apart; the end that `moved` ("low" or "high") gives way. */
export function ordered(low, high, moved, gap = 0.01) {
  if (high - low >= gap) return [low, high];
  return moved === "low" ? [Math.max(0, high - gap), high] : [low, Math.min(1, low + gap)];
}

/** How alike two points are, 0 to 1: one minus the root mean square distance over the space's parameters. */
export function alike(space, a, b) {
  let sum = 0;
  let count = 0;
  for (const parameter of space) {
    const [x, y] = [a[parameter.name], b[parameter.name]];
    if (parameter.type === "constant" || (x === undefined && y === undefined)) continue;
    const gap = isRange(parameter) && x !== undefined && y !== undefined
      ? toUnit(parameter, x) - toUnit(parameter, y)
      : Number(x !== y);
    sum += gap * gap;
    count += 1;
  }
  return count ? 1 - Math.sqrt(sum / count) : 1;
}
