// The hidden target: smoke that the page does not know of. Choose what is closest to it, and count the rounds. Pure.

import { fromUnit, isRange, alike } from "../scale.js";
import { random } from "./field.js";

export const FOUND = 0.85; // chance points of eight parameters are 0.6 alike, and 0.85 no eye tells apart at a glance

/** A point of the whole space, from a seed. */
export function hidden(space, seed) {
  const next = random(seed);
  const params = {};
  for (const parameter of space) {
    const u = 0.08 + 0.84 * next(); // a target on the rim of every range would be found by pulling sliders
    if (isRange(parameter)) params[parameter.name] = fromUnit(parameter, u);
    else if (parameter.type === "constant") params[parameter.name] = parameter.value;
    else if (parameter.type === "boolean") params[parameter.name] = u > 0.5;
    else params[parameter.name] = parameter.choices[Math.floor(u * parameter.choices.length)];
  }
  return params;
}

/** A game begun after `answers` answers. */
export const start = (seed, answers) => ({ seed, from: answers, best: 0, found: null });

/** The game after seeing a round: how alike the best card ever was, and in which round it was found. */
export function seen(game, space, cards, answers) {
  const target = hidden(space, game.seed);
  const best = Math.max(game.best, ...cards.map((card) => alike(space, card.params, target)));
  const round = Math.max(1, answers - game.from + 1);
  return { ...game, best, found: game.found ?? (best >= FOUND ? round : null) };
}

/** The game in words. */
export function told(game, answers) {
  const round = Math.max(1, answers - game.from + 1);
  const percent = `${Math.floor(game.best * 100)} %`;
  if (game.found !== null) return `Found in ${game.found} ${game.found === 1 ? "round" : "rounds"}: ${percent} alike.`;
  return `Round ${round}. The closest so far is ${percent} alike; at ${FOUND * 100} % it is found.`;
}
