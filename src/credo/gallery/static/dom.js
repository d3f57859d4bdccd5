// Elements from data: text is always set as text, so that nothing a name holds is read as markup.

/** An element; `on…` properties are listeners, `data` and `aria` are maps, the rest attributes (false and null are left out). */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** The same in SVG. */
export function s(tag, props = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

/** A picture of 24 × 24 points drawn by strokes. */
export function icon(path) {
  return s("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" }, s("path", { d: path }));
}

export const ICONS = {
  heart: "M12 20s-7.5-4.6-9-9.2C1.9 7.2 4.2 4.5 7 4.5c2 0 3.8 1.1 5 3 1.2-1.9 3-3 5-3 2.8 0 5.1 2.7 4 6.3C19.5 15.4 12 20 12 20z",
  pin: "M9 3h6l-1 6 3.5 3.5v1.5h-11v-1.5L10 9zM12 14v7",
  near: "M12 12m-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0M12 2v4M12 18v4M2 12h4M18 12h4",
  large: "M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7",
  earlier: "M15 5l-7 7 7 7",
  later: "M9 5l7 7-7 7",
  grip: "M9 6h.01M9 12h.01M9 18h.01M15 6h.01M15 12h.01M15 18h.01",
};

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "aria") for (const [key, v] of Object.entries(value)) element.setAttribute(`aria-${key}`, v);
    else if (name === "style") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
