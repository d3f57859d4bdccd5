// The belief along a parameter as SVG paths. Pure.

/** `{band, line, low, high}`: path data in a box of `width` × `height`, the liking's range spread over the height. */
export function paths({ grid, mean, lower, upper }, unit, width, height) {
  const low = Math.min(...lower);
  const high = Math.max(...upper);
  const tall = high - low || 1;
  const xs = grid.map((value) => round(unit(value) * width));
  const y = (value) => round(height - ((value - low) / tall) * height);
  const along = (values) => values.map((value, i) => `${xs[i]},${y(value)}`);
  const band = `M${along(upper).join("L")}L${along(lower).reverse().join("L")}Z`;
  return { band, line: `M${along(mean).join("L")}`, low, high };
}

/** Where the mean is highest: the grid's value. */
export function peak({ grid, mean }) {
  return grid[mean.indexOf(Math.max(...mean))];
}

const round = (x) => Math.round(x * 100) / 100;
