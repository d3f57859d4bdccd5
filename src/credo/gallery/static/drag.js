// Cards dragged into order by mouse, pen or finger; the keyboard has [ and ], and every card two buttons.

/** Nearest card's place for a pointer at (x, y): the index of the rectangle whose middle is closest. Pure. */
export function nearest(rectangles, x, y) {
  let best = 0;
  let least = Infinity;
  rectangles.forEach(({ left, top, width, height }, i) => {
    const gap = Math.hypot(left + width / 2 - x, top + height / 2 - y);
    if (gap < least) [best, least] = [i, gap];
  });
  return best;
}

/** Dragging by a card's handle or picture; `active()` says when, `onPlace(id, index)` hears where it is now. */
export function draggable(root, { active, onPlace }) {
  let held = null;

  root.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest(".grab, .view");
    const card = event.target.closest(".card");
    // A finger on the picture scrolls the page; only the handle drags under it.
    const scrolls = event.pointerType === "touch" && !event.target.closest(".grab");
    if (!active() || !handle || !card || event.button !== 0 || scrolls) return;
    held = { card, id: card.dataset.id, x: event.clientX, y: event.clientY, pointer: event.pointerId, moved: false };
    root.setPointerCapture(event.pointerId);
  });

  root.addEventListener("pointermove", (event) => {
    if (!held || event.pointerId !== held.pointer) return;
    if (!held.moved && Math.hypot(event.clientX - held.x, event.clientY - held.y) < 6) return;
    held.moved = true;
    held.card.classList.add("held");
    const cards = [...root.querySelectorAll(".card:not([hidden])")];
    const to = nearest(cards.map((card) => card.getBoundingClientRect()), event.clientX, event.clientY);
    if (cards[to] !== held.card) onPlace(held.id, to);
  });

  const drop = (event) => {
    if (!held || event.pointerId !== held.pointer) return;
    held.card.classList.remove("held");
    held = null;
  };
  root.addEventListener("pointerup", drop);
  root.addEventListener("pointercancel", drop);
}
