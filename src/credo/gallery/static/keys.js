// The keyboard: one table, which the help shows and the page obeys. Pure.

export const TABLE = [
  { keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], shown: "1–9", does: "choose that card; rate the card in focus when there are stars or sliders" },
  { keys: ["ArrowLeft", "ArrowUp"], shown: "← ↑", action: "previous", does: "the card before" },
  { keys: ["ArrowRight", "ArrowDown"], shown: "→ ↓", action: "next", does: "the card after" },
  { keys: ["Enter"], shown: "Enter", action: "enter", does: "choose the card in focus, or send the order, stars or sliders" },
  { keys: ["["], shown: "[", action: "earlier", does: "move the card in focus up the order" },
  { keys: ["]"], shown: "]", action: "later", does: "move it down the order" },
  { keys: ["t"], shown: "t", action: "tie", does: "these are equally good" },
  { keys: ["n"], shown: "n", action: "none", does: "none of them" },
  { keys: ["s"], shown: "s", action: "skip", does: "skip, and deal other cards" },
  { keys: ["u"], shown: "u", action: "undo", does: "take the last answer back" },
  { keys: ["r"], shown: "r", action: "redo", does: "give it again" },
  { keys: ["f"], shown: "f", action: "favourite", does: "keep the card in focus as a favourite" },
  { keys: ["p"], shown: "p", action: "pin", does: "pin it: it is dealt again" },
  { keys: ["m"], shown: "m", action: "near", does: "more like it" },
  { keys: ["z"], shown: "z", action: "enlarge", does: "see it large" },
  { keys: ["o"], shown: "o", action: "mode", does: "the next way of answering" },
  { keys: ["?"], shown: "?", action: "help", does: "this help" },
];

const ACTIONS = new Map(TABLE.flatMap(({ keys, action }) => keys.map((key) => [key, action])));
const DIGIT = /^[1-9]$/;

/** What a key press asks for: an action's name, `{digit}`, or null. `typing` says that a field has the focus. */
export function meaning({ key, ctrlKey, metaKey, altKey, typing = false, on = true }) {
  if (ctrlKey || metaKey || altKey || typing) return null;
  if (key === "?") return "help"; // always: it is where shortcuts are switched on again
  if (!on) return null;
  if (DIGIT.test(key)) return { digit: Number(key) };
  return ACTIONS.get(key.length === 1 ? key.toLowerCase() : key) ?? null;
}
