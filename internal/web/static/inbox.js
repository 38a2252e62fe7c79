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

  // Beside the list there is the page of the row that is open, if the window has room.
  const detail = document.getElementById("detail");
  const room = matchMedia("(min-width: 1100px)");
  const beside = () => Boolean(detail) && room.matches;
  const codeOf = (row) => row.id.slice("row-".length);
  // What a narrow window hides is not open: no key decides what is not seen.
  const approval = () => {
    const at = document.getElementById("approval");
    return at?.checkVisibility() ? at : null;
  };
  const shown = () => approval()?.querySelector("[data-code]")?.dataset.code ?? "";
  let wanted = "", coming = "", soon = 0;

  function load(row) {
    wanted = codeOf(row);
    for (const r of rows()) r.toggleAttribute("data-open", r === row);
    if (wanted === (coming || shown())) return;
    coming = wanted;
    detail.inert = true; // until then the request that is there is not the one that is open
    clearTimeout(soon);
    soon = setTimeout(async () => {
      const code = coming;
      detail.hidden = false;
      await htmx.ajax("GET", row.dataset.href, { source: detail, target: detail, swap: "innerHTML" }).catch(() => {});
      if (coming !== code) return; // another one was asked for meanwhile
      coming = "";
      detail.inert = false;
      detail.scrollTop = 0;
      if (approval() && shown() !== code) {
        detail.replaceChildren();
        notify(`${code} could not be opened: try again.`);
      }
      calm(approval());
    }, 60);
  }

  // First of what waits is open from the start.
  function begin() {
    if (!beside()) {
      if (detail) detail.hidden = true;
      return;
    }
    detail.hidden = false;
    const row = rows().find((r) => codeOf(r) === wanted) ?? rows()[0];
    if (row) load(row);
    else if (!detail.firstChild) detail.hidden = true;
  }
  room.addEventListener("change", begin);

  function open(row) {
    if (beside()) load(row);
    else location.assign(row.dataset.href);
  }

  function move(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    if (beside()) load(next);
  }

  // The bar at the top covers a part of the window.
  function inView(row) {
    const r = row.getBoundingClientRect(), bar = document.querySelector("header")?.getBoundingClientRect().bottom ?? 0;
    return r.top >= Math.min(bar, innerHeight / 2) - 1 && r.bottom <= innerHeight + 1;
  }

  // press clicks the button for a key: that of the row, else that of the page of it. Where a yes is
  // to be found by reading all of the call, the row is opened.
  function press(key) {
    const all = rows(), inside = detail?.contains(document.activeElement);
    const row = current() ?? (inside ? all.find((r) => codeOf(r) === shown()) : all.length === 1 ? all[0] : null);
    if (row && !inView(row)) { // no key decides what is not seen
      row.scrollIntoView({ block: "center" });
      rest();
      return;
    }
    const read = approval() && (inside || !all.length || (row && codeOf(row) === shown()));
    const own = row?.querySelector(`[data-key="${key}"]`);
    const cut = key === "a" && own && !own.checkVisibility(); // on a narrow page the row need not hold the whole call
    const moving = read && live?.hasAttribute("data-settling"); // what is open stays while rows come
    const button = (cut || moving ? null : own) ?? (read ? approval().querySelector(`[data-key="${key}"]`) : null);
    if (button) button.click();
    else if (row && key === "a") open(row);
  }

  document.addEventListener("click", (e) => {
    const row = e.target.closest?.("[data-row] h3 a")?.closest("[data-row]");
    if (!row || !beside() || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
    e.preventDefault();
    row.focus({ preventScroll: true });
    load(row);
  });

  function help() {
    if (keys && !keys.open) keys.showModal();
  }

  // Letters meant for a field that has gone, because the request ended meanwhile, are no keys.
  let field = null;
  document.addEventListener("focusin", (e) => {
    field = e.target.matches("input, textarea") && !e.target.closest("dialog") ? e.target : null;
  });
  document.addEventListener("pointerdown", () => { if (!field?.checkVisibility()) field = null; });

  document.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.repeat && e.key !== "j" && e.key !== "k") return;
    if (e.target.closest?.("input, textarea, select") || document.querySelector("dialog[open]")) return;
    if (field && !field.checkVisibility()) {
      if (e.key === "Escape") field = null;
      else if (["j", "k", "a", "d", "?"].includes(e.key)) notify("The field that you were typing in is gone. Esc, Tab or a click, and keys count again.");
      return;
    }
    switch (e.key) {
      case "j": move(1); break;
      case "k": move(-1); break;
      case "a": case "d": press(e.key); break;
      case "?": help(); break;
      case "Enter": {
        const row = e.target.matches?.("[data-row][data-href]") ? e.target : null;
        if (!row) return;
        open(row);
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

  function notify(text) {
    const notice = document.getElementById("notice");
    if (!notice || notice.textContent === text) return;
    notice.textContent = text;
    rest(); // it moves what is below it
  }

  const say = (lost) => {
    if (!gone || gone.hidden === !lost) return;
    gone.hidden = !lost;
    rest();
  };
  live?.addEventListener("htmx:sse:after:connection", () => say(false));
  live?.addEventListener("htmx:sse:error", () => say(true));
  live?.addEventListener("htmx:sse:before:connection", (e) => { if (e.detail.connection.attempt > 0) say(true); });
  live?.addEventListener("htmx:sse:after:message", title);
  live?.addEventListener("signedout", () => location.assign("/signin"));

  // A person who is not signed in any more is sent to where they can be. A page that cannot be live stays as it is.
  document.addEventListener("htmx:before:swap", (e) => {
    const from = e.detail?.ctx?.response?.raw, path = from && new URL(from.url).pathname;
    if (path === "/signin") location.assign("/signin");
    else if (path === "/live" && !from.ok) notify(e.detail.ctx.text);
    else return;
    e.preventDefault();
  });

  // A click that is under way, or a second press of a key, was not meant for what has only just come to stand there: for a
  // moment after the rows, or what is open, have changed or moved nothing is decided.
  const pause = 800; // milliseconds, as in the dialog
  const timers = new WeakMap();
  function calm(part) {
    if (!part) return;
    clearTimeout(timers.get(part));
    part.toggleAttribute("data-settling", true);
    timers.set(part, setTimeout(() => part.toggleAttribute("data-settling", false), pause));
  }
  function rest() {
    calm(live);
    calm(approval());
  }
  // What changed while the page was hidden has just changed for the person who comes back.
  document.addEventListener("visibilitychange", rest);
  addEventListener("pageshow", (e) => { if (e.persisted) rest(); });
  document.addEventListener("htmx:after:swap", (e) => { if (e.detail?.ctx?.target?.id === "notice") rest(); });
  const standing = () => rows().map((r) => r.id).join();
  const offered = () => [...(approval()?.querySelectorAll("[data-code], button") ?? [])].map((b) => b.dataset.code ?? b.value).join();
  let order = standing(), offers = offered();
  function settle() {
    if (order !== standing()) calm(live);
    if (offers !== offered()) calm(approval());
    order = standing();
    offers = offered();
  }
  document.addEventListener("htmx:sse:after:message", settle, true); // before all else that hears of it
  document.addEventListener("click", (e) => {
    const button = e.target.closest?.(".allow, .wider, .answer, .quick .deny, .decide .deny");
    const part = button?.closest("[data-row]") ? live : button?.closest("#approval");
    if (!part?.hasAttribute("data-settling")) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    notify("That row has just changed: look again.");
  }, true);

  // What asks a second time has just come to stand there too.
  document.addEventListener("toggle", (e) => {
    if (!e.target.matches?.("details.confirm") || !e.target.open) return;
    calm(approval());
    e.target.querySelector("button")?.focus({ preventScroll: true });
  }, true);

  // After a row was decided the next one is at hand, and open, unless somebody is typing.
  let before = null;
  live?.addEventListener("htmx:sse:before:message", () => {
    const all = rows(), inside = detail?.contains(document.activeElement) && !document.activeElement.matches("input");
    const at = all.findIndex((r) => r === current() || (inside && codeOf(r) === shown()));
    before = at < 0 ? null : { at, code: codeOf(all[at]), mine: "mine" in all[at].dataset };
  });
  live?.addEventListener("htmx:sse:after:message", () => {
    const all = rows();
    for (const r of all) r.toggleAttribute("data-open", beside() && codeOf(r) === wanted);
    const still = before && all.find((r) => codeOf(r) === before.code);
    if (before && all.length && !(still && (!before.mine || "mine" in still.dataset))) {
      const next = all[Math.min(before.at, all.length - 1)];
      next.focus({ preventScroll: true });
      if (beside()) load(next);
    } else if (beside() && !shown() && all.length) begin();
  });
  if (document.getElementById("rows")) begin();
})();
