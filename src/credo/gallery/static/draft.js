// The answer being made, before it is sent: modes, ranks, ratings. Pure: every function returns a new draft.

export const MODES = {
  best: { label: "Best", ask: "Which one is closest to what you have in mind?" },
  order: { label: "Order", ask: "Put them in order, the closest first." },
  duel: { label: "Duel", ask: "Which of these two is closer?" },
  stars: { label: "Stars", ask: "How many stars for each?" },
  slider: { label: "Slider", ask: "How close is each, from not at all to exactly?" },
};

/** A fresh draft for a round: `ids` as the server dealt them. */
export function begin(mode, ids) {
  return { mode, dealt: [...ids], order: [...ids], moved: false, ratings: {} };
}

/** The cards on the table: two in a duel, all else. */
export const visible = (draft) => (draft.mode === "duel" ? draft.dealt.slice(0, 2) : draft.order);

/** The card put at `place` (0 is best). */
export function place(draft, id, at) {
  const rest = draft.order.filter((other) => other !== id);
  const to = Math.min(rest.length, Math.max(0, at));
  return { ...draft, order: [...rest.slice(0, to), id, ...rest.slice(to)], moved: true };
}

/** The card moved by `step` places; at an end it stays. */
export const shift = (draft, id, step) => place(draft, id, draft.order.indexOf(id) + step);

/** A card rated; null takes the rating back. */
export function rate(draft, id, value) {
  const ratings = { ...draft.ratings };
  if (value === null) delete ratings[id];
  else ratings[id] = value;
  return { ...draft, ratings };
}

/** Whether Enter may send it: an order always, ratings once there is one. */
export function ready(draft) {
  if (draft.mode === "order") return true;
  return (draft.mode === "stars" || draft.mode === "slider") && Object.keys(draft.ratings).length > 0;
}

/** What is sent when the card is chosen (best, duel). */
export function chosen(draft, id) {
  if (draft.mode !== "duel") return { kind: "best", chosen: id };
  return { kind: "duel", winner: id, loser: visible(draft).find((other) => other !== id) };
}

/** What is sent when the draft itself is the answer (order, stars, slider). */
export function finished(draft) {
  if (draft.mode === "order") return { kind: "order", ranking: draft.order };
  return { kind: draft.mode, ratings: draft.ratings };
}

/** What is sent when the cards on the table are equally good. */
export const tied = (draft) => ({ kind: "tie", items: visible(draft) });
