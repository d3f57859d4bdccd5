// All smoke of the page in one loop: cards in sight are advanced and painted, and the governor says how many particles.

import { governor, heard, MOST, rate } from "./governor.js";
import { ASPECT, painter } from "./paint.js";
import { advance, plume, settled } from "./particles.js";

const TALLEST = 400; // pixels of a picture's height: smoke is soft, and a software renderer pays by the pixel
const LARGE = 720;
const WARM = 4; // seconds of smoke before the first picture
const PATIENCE = 12; // ms of a frame that first pictures may take; the other cards get theirs in the next frames

let only = null;

function dusk(context) {
  context.fillStyle = "#18202a"; // as `.view` of the style sheet
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
}

/** The page's one stage. */
export function stage() {
  only ??= makeStage();
  return only;
}

/** A stage of its own, for tests: `force` "canvas" does without WebGL2, `limits` go to the governor. */
export function makeStage({ force, limits = {}, motion } = {}) {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const shows = new Map();
  let paint = painter(force);
  let state = governor(limits);
  let running = 0;
  let before = 0;
  let frames = 0;

  const moving = () => motion ?? !reduced.matches;
  const sight = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) if (shows.has(target)) shows.get(target).inSight = isIntersecting;
    wake();
  });

  function wake() {
    if (!running && [...shows.values()].some((show) => show.inSight)) {
      before = 0;
      running = requestAnimationFrame(frame);
    }
  }

  function frame(now) {
    running = 0;
    const began = performance.now();
    if (paint.lost()) paint = painter("canvas");
    const seconds = before ? (now - before) / 1000 : 0;
    before = now;
    let left = 0;
    let later = false;
    for (const [canvas, show] of shows) {
      if (!show.inSight || !sized(canvas, show)) continue;
      left += 1;
      if (!show.cloud.time && performance.now() - began > PATIENCE) later = true;
      else draw(show, Math.min(seconds, 1 / 12));
    }
    frames += 1;
    if (seconds) state = heard(state, seconds, (performance.now() - began) / 1000);
    if (later || (left && moving())) running = requestAnimationFrame(frame);
  }

  function draw(show, seconds) {
    if (!show.cloud.time) settled(show.cloud, WARM, state.count);
    else if (moving()) advance(show.cloud, seconds, state.count);
    paint.paint(show.context, show.cloud);
  }

  function sized(canvas, show) {
    const scale = Math.min(2, window.devicePixelRatio || 1);
    const most = paint.tallest ?? (show.large ? LARGE : TALLEST);
    const h = Math.round(state.sharp * Math.min(most, canvas.clientHeight * scale));
    if (h < 8) return false;
    const w = Math.round((h * canvas.clientWidth) / canvas.clientHeight);
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      dusk(show.context);
    }
    return true;
  }

  reduced.addEventListener("change", wake);
  const resized = new ResizeObserver(wake);

  return {
    add(canvas, params, seed, large = false) {
      const context = canvas.getContext("2d", { alpha: false });
      dusk(context); // a card whose turn has not come is no black hole
      shows.set(canvas, { context, cloud: plume(params, seed, Math.min(MOST, state.most)), inSight: false, large });
      canvas.style.setProperty("aspect-ratio", String(ASPECT));
      sight.observe(canvas);
      resized.observe(canvas);
    },
    remove(canvas) {
      sight.unobserve(canvas);
      resized.unobserve(canvas);
      shows.delete(canvas);
    },
    /** What the status line and the tests read. */
    stats: () => ({
      painter: paint.name, particles: state.count, rate: rate(state), frames, cards: shows.size, moving: moving(),
      time: Math.max(0, ...[...shows.values()].map((show) => show.cloud.time)),
    }),
  };
}
