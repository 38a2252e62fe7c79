// <approval-dialog desk="https://desk.example" session="chat-7" token-url="/approvals-token">
//
// Lists what waits for approval in a session, in a page of your own, and opens the desk's own
// dialog, where who is signed in there decides. The page learns how, and can decide nothing.
// token-url is a route of your backend: it answers {"token", "expiresAtMs"} of
// POST /v1/viewer-tokens for that session, if whoever asks may see it. Fires
// "approval-resolved" with detail {code, decision, status}; the latter two are null where the
// approval ended elsewhere.
"use strict";
(() => {
  const style = new CSSStyleSheet();
  style.replaceSync(`
    :host { display: block; font: inherit; color: inherit; }
    ul { list-style: none; margin: 0; padding: 0; }
    li { display: flex; flex-wrap: wrap; gap: .5rem; align-items: baseline; padding: .5rem .75rem; margin: 0 0 .5rem;
      border: 1px solid color-mix(in srgb, currentColor 30%, transparent); border-left: .4rem solid #2e7d32; border-radius: .4rem; }
    li[data-risk="R2"] { border-left-color: #f9a825; }
    li[data-risk="R3"] { border-left-color: #ef6c00; }
    li[data-risk="R4"] { border-left-color: #c62828; }
    code { flex: 1 1 12rem; overflow-wrap: anywhere; font-family: ui-monospace, monospace; }
    button { font: inherit; padding: .4rem .9rem; min-height: 2.5rem; cursor: pointer; }
    button:focus-visible { outline: 3px solid; outline-offset: 2px; }
    p { margin: 0; }`);

  const make = (name, properties, ...children) => {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  };
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  class ApprovalDialog extends HTMLElement {
    static observedAttributes = ["desk", "session", "token-url"];
    #items = new Map(); // code -> what is listed
    #windows = new Map(); // window -> code of the dialog in it
    #run = 0; // which watch is the one that counts
    #token = null;
    #stop = null;
    #list = make("ul", { ariaLabel: "Waiting for approval" });
    #said = make("p", { role: "status" });

    constructor() {
      super();
      const root = this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [style];
      root.append(this.#list, this.#said);
    }

    connectedCallback() {
      addEventListener("message", this.#heard);
      this.#watch();
    }

    disconnectedCallback() {
      removeEventListener("message", this.#heard);
      this.#run++;
      this.#stop?.abort();
    }

    attributeChangedCallback() {
      this.#token = null;
      this.#items.clear();
      this.#windows.clear();
      if (this.isConnected) this.#watch();
    }

    get #desk() { return new URL(this.getAttribute("desk") ?? "", location.href).origin; }

    // The answer of a dialog: from the desk's origin, from a window that was opened here, about
    // the approval that it was opened for. Anything else is somebody else's.
    #heard = (event) => {
      const code = this.#windows.get(event.source), answer = event.data;
      if (!code || event.origin !== this.#desk || answer?.type !== "approvalbot" || answer.code !== code) return;
      if (answer.status !== "pending") this.#resolved(code, String(answer.decision), String(answer.status));
    };

    #resolved(code, decision, status) {
      if (!this.#items.delete(code)) return;
      for (const [opened, its] of this.#windows) if (its === code) this.#windows.delete(opened);
      this.#draw();
      this.dispatchEvent(new CustomEvent("approval-resolved", { bubbles: true, composed: true, detail: { code, decision, status } }));
    }

    #open(code) {
      const opened = open(`${this.#desk}/dialog/${encodeURIComponent(code)}`, `approvalbot-${code}`, "popup,width=480,height=720");
      if (opened) this.#windows.set(opened, code);
      else this.#said.textContent = "The browser has blocked the dialog's window; allow it for this page.";
    }

    #draw() {
      this.#list.replaceChildren(...[...this.#items.values()].map((item) => {
        const button = make("button", { type: "button", ariaLabel: `Review ${item.code}` }, "Review");
        button.addEventListener("click", () => this.#open(item.code));
        const row = make("li", {}, make("code", {}, item.title), make("span", {}, `${item.risk} · ${item.code}`), button);
        row.dataset.risk = item.risk;
        return row;
      }));
    }

    // A token of the page's own backend, another one half a minute before the last one ends.
    async #fresh(signal) {
      if (this.#token && this.#token.expiresAtMs - Date.now() > 30_000) return this.#token.token;
      const answer = await fetch(this.getAttribute("token-url"), { method: "POST", credentials: "same-origin", signal,
        headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sessionKey: this.getAttribute("session") }) });
      if (!answer.ok) throw new Error(`the page's own server answered ${answer.status} to token-url`);
      this.#token = await answer.json();
      return this.#token.token;
    }

    // Keeps the list as it is at the desk, until another watch begins. The token goes in a
    // header, so that no address and no log has it.
    async #watch() {
      const run = ++this.#run;
      this.#stop?.abort();
      const { signal } = this.#stop = new AbortController();
      await null; // one watch for all attributes that are set together
      let known = "", failures = 0;
      while (run === this.#run) {
        const began = Date.now();
        try {
          const headers = { Authorization: `Bearer ${await this.#fresh(signal)}` };
          const answer = await fetch(`${this.#desk}/viewer/approvals?known=${encodeURIComponent(known)}`,
            { headers, signal, credentials: "omit", cache: "no-store" });
          if (answer.status === 401) this.#token = null;
          if (!answer.ok) throw new Error(`the desk answered ${answer.status}`);
          const list = await answer.json();
          if (run !== this.#run) return;
          const same = list.state === known;
          known = list.state;
          failures = 0;
          this.#said.textContent = "";
          this.#show(list.items);
          if (same && Date.now() - began < 1000) await pause(3000);
        } catch (problem) {
          if (run !== this.#run) return;
          known = "";
          this.#said.textContent = "Reconnecting to the approval desk …";
          console.warn("approval-dialog:", problem.message);
          await pause(Math.min(30_000, 1000 * 2 ** failures++));
        }
      }
    }

    #show(items) {
      const waits = new Map(items.map((item) => [item.code, item]));
      for (const code of [...this.#items.keys()]) if (!waits.has(code) && !this.#answering(code)) this.#resolved(code, null, null);
      for (const [code, item] of waits) if (!this.#items.has(code)) this.#items.set(code, item);
      this.#items = new Map([...waits.keys(), ...this.#items.keys()].map((code) => [code, this.#items.get(code)]));
      this.#draw();
    }

    // Where a dialog is open its own answer is on its way, and says more than that the row has gone.
    #answering(code) {
      for (const [opened, its] of this.#windows) {
        if (its !== code || opened.closed) continue;
        setTimeout(() => this.#resolved(code, null, null), 3000);
        return true;
      }
      return false;
    }
  }
  customElements.define("approval-dialog", ApprovalDialog);
})();
