import { begin, chosen, finished, MODES, place, rate, ready, shift, tied, visible } from "/static/draft.js";
import { meaning, TABLE } from "/static/keys.js";
import { nearest } from "/static/drag.js";
import { equal, holds } from "./check.js";

const ids = ["a", "b", "c", "d"];

export const tests = {
  "an order by moves": () => {
    let draft = begin("order", ids);
    draft = place(draft, "d", 0);
    equal(draft.order, ["d", "a", "b", "c"]);
    draft = shift(draft, "a", 1);
    equal(draft.order, ["d", "b", "a", "c"]);
    equal(finished(draft), { kind: "order", ranking: ["d", "b", "a", "c"] });
  },
  "at an end a card stays": () => {
    equal(shift(begin("order", ids), "a", -1).order, ids);
    equal(shift(begin("order", ids), "d", 1).order, ids);
    equal(place(begin("order", ids), "a", 99).order, ["b", "c", "d", "a"]);
  },
  "a draft is never changed in place": () => {
    const draft = Object.freeze(begin("order", ids));
    place(draft, "c", 0);
    rate(draft, "c", 3);
    equal([draft.order, draft.ratings], [ids, {}]);
  },
  "every order is reached by moves, and none loses a card": () => {
    let draft = begin("order", ids);
    for (let i = 0; i < 200; i++) {
      draft = shift(draft, ids[(7 * i) % 4], i % 3 === 0 ? 1 : -1);
      equal([...draft.order].sort(), ids);
    }
  },
  "a duel is between the first two": () => {
    const draft = begin("duel", ids);
    equal(visible(draft), ["a", "b"]);
    equal(chosen(draft, "b"), { kind: "duel", winner: "b", loser: "a" });
    equal(tied(draft), { kind: "tie", items: ["a", "b"] });
  },
  "the best, and a tie of all": () => {
    equal(chosen(begin("best", ids), "c"), { kind: "best", chosen: "c" });
    equal(tied(begin("best", ids)), { kind: "tie", items: ids });
  },
  "ratings": () => {
    let draft = begin("stars", ids);
    holds(!ready(draft), "nothing rated yet");
    draft = rate(rate(draft, "a", 4), "b", 1);
    holds(ready(draft), "two rated");
    equal(finished(draft), { kind: "stars", ratings: { a: 4, b: 1 } });
    equal(finished(rate(draft, "a", null)).ratings, { b: 1 });
  },
  "choosing modes have nothing to send": () => holds(!ready(begin("best", ids)) && !ready(begin("duel", ids)), "not ready"),
  "every mode says what it asks": () => {
    for (const { label, ask } of Object.values(MODES)) holds(label && ask.length > 10, label);
  },
  "keys": () => {
    equal(meaning({ key: "3" }), { digit: 3 });
    equal(meaning({ key: "T" }), "tie");
    equal(meaning({ key: "ArrowLeft" }), "previous");
    equal(meaning({ key: "0" }), null);
  },
  "nothing while typing, with a modifier, or when switched off; but help is always there": () => {
    equal(meaning({ key: "s", typing: true }), null);
    equal(meaning({ key: "s", ctrlKey: true }), null);
    equal(meaning({ key: "r", metaKey: true }), null);
    equal(meaning({ key: "s", on: false }), null);
    equal(meaning({ key: "?", on: false }), "help");
  },
  "no key means two things": () => {
    const keys = TABLE.flatMap((row) => row.keys);
    equal(keys.length, new Set(keys).size);
  },
  "where a dragged card would land": () => {
    const boxes = [0, 100, 200].map((left) => ({ left, top: 0, width: 90, height: 120 }));
    equal(nearest(boxes, 20, 60), 0);
    equal(nearest(boxes, 170, 60), 1);
    equal(nearest(boxes, 900, -50), 2);
  },
};
