// What pages do by themselves beside htmx: keys, the tab's title, and saying when the
// connection is gone. It decides nothing and remembers nothing.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const keys = document.getElementById("keys");
  const gone = document.getElementById("reconnecting");
  const live = document.getElementById("live");

  // The row that was moved to is the one that has the focus, or has it inside.
  const current = () => document.activeElement?.closest?.("[data-row]") ?? null;

  function move(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  // press clicks the row's button for a key; where it has none, and one is meant to be
  // found by reading all of it, the row is opened.
  function press(key) {
    const all = rows();
    const row = current() ?? (all.length === 1 ? all[0] : null);
    const button = row?.querySelector(`[data-key="${key}"]`);
    if (button) button.click();
    else if (row?.dataset.href && key === "a") location.assign(row.dataset.href);
  }

  function help() {
    if (keys && !keys.open) keys.showModal();
  }

  document.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.repeat && e.key !== "j" && e.key !== "k") return;
    if (e.target.closest?.("input, textarea, select, dialog[open]")) return;
    switch (e.key) {
      case "j": move(1); break;
      case "k": move(-1); break;
      case "a": case "d": press(e.key); break;
      case "/": {
        const search = document.querySelector("[data-search]");
        if (!search) return;
        search.focus();
        break;
      }
      case "?": help(); break;
      case "Enter": {
        const row = e.target.matches?.("[data-row][data-href]") ? e.target : null;
        if (!row) return;
        location.assign(row.dataset.href);
        break;
      }
      default: return;
    }
    e.preventDefault();
  });

  for (const button of document.querySelectorAll("[data-help]")) {
    button.hidden = false;
    button.addEventListener("click", help);
  }

  // The title follows what the desk says of the page.
  function title() {
    const of = document.querySelector("[data-title]");
    if (of) document.title = `${of.dataset.title} · approvalbot`;
  }

  const say = (lost) => { if (gone) gone.hidden = !lost; };
  live?.addEventListener("htmx:sse:after:connection", () => say(false));
  live?.addEventListener("htmx:sse:error", () => say(true));
  live?.addEventListener("htmx:sse:before:connection", (e) => { if (e.detail.connection.attempt > 0) say(true); });
  live?.addEventListener("htmx:sse:after:message", title);
  live?.addEventListener("signedout", () => location.assign("/signin"));

  // Whoever is not signed in any more is sent to where they can be.
  document.addEventListener("htmx:before:swap", (e) => {
    const from = e.detail?.ctx?.response?.raw?.url;
    if (!from || new URL(from).pathname !== "/signin") return;
    e.preventDefault();
    location.assign("/signin");
  });

  // A click that is under way, or a second press of a key, was not meant for what has only
  // just come to stand there: for a moment after the rows have changed nothing is allowed.
  const rest = 800; // milliseconds, as in the dialog
  const standing = () => rows().map((r) => r.id).join();
  let order = standing(), timer = 0;
  function settle() {
    if (order === standing()) return;
    order = standing();
    clearTimeout(timer);
    live.toggleAttribute("data-settling", true);
    timer = setTimeout(() => live.toggleAttribute("data-settling", false), rest);
  }
  live?.addEventListener("htmx:sse:after:message", settle);
  document.addEventListener("click", (e) => {
    if (!live?.hasAttribute("data-settling") || !e.target.closest?.("[data-row] :is(.allow, .wider)")) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    const notice = document.getElementById("notice");
    if (notice) notice.textContent = "What stands there has just changed: look again.";
  }, true);

  // After a row was decided the next one is at hand.
  let before = -1;
  live?.addEventListener("htmx:sse:before:message", () => { before = rows().indexOf(current()); });
  live?.addEventListener("htmx:sse:after:message", () => {
    const all = rows();
    if (before < 0 || current() || !all.length) return;
    all[Math.min(before, all.length - 1)].focus({ preventScroll: true });
  });
})();
