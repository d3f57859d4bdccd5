// What a card shows: smoke, a template in a sandboxed frame, an image or video made by the server, or a table.

import { h } from "./dom.js";
import { title } from "./scale.js";
import { stage } from "./smoke/stage.js";

/** The picture of a card, and how to let go of it: `{element, stop}`. */
export function picture(card, { space, quality = "low", large = false } = {}) {
  const kind = card.render?.kind ?? "table";
  const draw = KINDS[kind] ?? KINDS.table;
  return draw(card, { space, quality, large });
}

const KINDS = {
  smoke(card, { large }) {
    const canvas = h("canvas", { class: "smoke", role: "img", "aria-label": "Smoke as these parameters make it" });
    stage().add(canvas, card.params, card.render.seed ?? 1, large);
    return { element: canvas, stop: () => stage().remove(canvas) };
  },

  template(card) {
    const { url, width = 640, height = 480 } = card.render;
    // No allow-same-origin: what the template runs can reach neither this page nor its server.
    const frame = h("iframe", { sandbox: "allow-scripts", src: url, title: "What these parameters make", width, height, loading: "lazy" });
    const element = h("div", { class: "frame", style: { "aspect-ratio": `${width} / ${height}` } }, frame);
    // The template draws for the size it was promised; the card shows it smaller or larger.
    const fitted = new ResizeObserver(() => frame.style.setProperty("transform", `scale(${element.clientWidth / width})`));
    fitted.observe(element);
    return { element, stop: () => fitted.disconnect() };
  },

  image: (card, { quality }) => made(card, quality, (url, done) => {
    const image = h("img", { alt: "What these parameters make", decoding: "async" });
    image.addEventListener("load", () => done(true));
    image.addEventListener("error", () => done(false));
    image.src = url;
    return image;
  }),

  video: (card, { quality }) => made(card, quality, (url, done) => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const video = h("video", { muted: true, loop: true, playsinline: true, controls: true, "aria-label": "What these parameters make" });
    video.muted = true;
    video.autoplay = !still;
    video.addEventListener("loadeddata", () => done(true));
    video.addEventListener("error", () => done(false));
    video.src = url;
    return video;
  }),

  table(card, { space }) {
    const rows = (space ?? []).filter(({ name }) => name in card.params);
    const listed = rows.length ? rows : Object.keys(card.params).map((name) => ({ name }));
    const element = h("dl", { class: "facts" }, listed.map((row) => h("div", {}, h("dt", {}, title(row)), h("dd", {}, text(card, row.name)))));
    return { element, stop: () => {} };
  },
};

const text = (card, name) => String(card.shown?.[name] ?? card.params[name]);

/** A file that the server is still making: asked for until it is there, with word of the queue meanwhile. */
function made(card, quality, load) {
  const box = h("div", { class: "made", data: { state: "waiting" } });
  const abort = new AbortController();
  const { url: base, width, height } = card.render;
  const url = `${base}?quality=${quality}`;
  if (width && height) box.style.setProperty("aspect-ratio", `${width} / ${height}`);
  const fail = (reason) => {
    if (abort.signal.aborted) return;
    box.dataset.state = "failed";
    box.replaceChildren(
      h("p", { class: "wait" }, reason),
      h("button", { type: "button", class: "quiet", onclick: () => begin(true) }, "Try again"),
    );
  };
  async function ask(again) {
    let from = again ? `${url}&again=true` : url;
    for (let wait = 250; !abort.signal.aborted; wait = Math.min(2000, wait * 1.5)) {
      const answer = await fetch(from, { signal: abort.signal, credentials: "same-origin" });
      from = url; // "again" is said once
      if (answer.status === 200) return show();
      const said = await answer.json().catch(() => ({}));
      if (answer.status !== 202 && answer.status !== 429) return fail(said.detail ?? `It could not be made (${answer.status}).`);
      const position = said.position > 0 ? ` ${said.position} before it.` : "";
      box.replaceChildren(h("p", { class: "wait" }, `Being made …${position}`));
      await new Promise((done) => setTimeout(done, wait));
    }
    return undefined;
  }
  function show() {
    const media = load(url, (well) => (well ? (box.dataset.state = "ready") : fail("It was made, but cannot be shown.")));
    box.replaceChildren(media);
  }
  function begin(again = false) {
    box.dataset.state = "waiting";
    box.replaceChildren(h("p", { class: "wait" }, "Being made …"));
    ask(again).catch((error) => error.name !== "AbortError" && fail("The server does not answer."));
  }
  begin();
  return { element: box, stop: () => abort.abort() };
}
