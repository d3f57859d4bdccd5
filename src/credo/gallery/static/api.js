// Talking to the server: one request at a time in the order they were made, sent again until it answers.

const PAUSES = [300, 800, 1500, 3000]; // ms between attempts; the last is repeated

/** A random name, so that an answer which is sent twice is recorded once. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");

/** `onTrouble(text or null)` hears when the server is away and when it is back. */
export function client({ onTrouble }) {
  let csrf = document.querySelector("meta[name=csrf-token]")?.content ?? "";
  let last = Promise.resolve();

  const headers = () => ({ Accept: "application/json", "X-Session": document.body.dataset.session ?? "", "X-CSRF-Token": csrf });

  async function once(path, options) {
    const response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
    if (response.ok) return response.json();
    const detail = await response.json().then((body) => body.detail, () => null);
    const text = typeof detail === "string" ? detail : `The server refused (${response.status}).`;
    throw Object.assign(new Error(text), { status: response.status });
  }

  /** A restarted server has another token: it is on the page as it is served now. */
  async function renewed() {
    const page = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
    if (!page.ok) return false;
    const fresh = new DOMParser().parseFromString(await page.text(), "text/html").querySelector("meta[name=csrf-token]");
    if (!fresh || fresh.content === csrf) return false;
    csrf = fresh.content;
    return true;
  }

  async function persisted(send) {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await send();
        onTrouble(null);
        return result;
      } catch (error) {
        if (error.status === 403 && attempt === 0 && (await renewed().catch(() => false))) continue;
        const away = error.status === undefined || error.status === 502 || error.status === 503;
        if (!away && error.status !== 429) throw error;
        if (away) onTrouble("The server does not answer. Nothing is lost: this is sent again until it does.");
        await new Promise((done) => setTimeout(done, PAUSES[Math.min(attempt, PAUSES.length - 1)]));
      }
    }
  }

  return {
    get: (path, signal) => once(path, { headers: headers(), signal }),
    state: () => persisted(() => once("/api/state", { headers: headers() })),
    post(path, body) {
      const send = () => once(path, {
        method: "POST",
        headers: { ...headers(), "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      const result = last.then(() => persisted(send));
      last = result.catch(() => {});
      return result;
    },
  };
}
