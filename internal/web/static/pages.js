// What every page does by itself: times that stay true, in the browser's zone where the person has none of their own, the
// menu, and the palette that finds a page or a request. It decides nothing and remembers nothing.
"use strict";
(() => {
  const zone = document.querySelector("[data-zone]");
  const browsers = zone && !("own" in zone.dataset); // the person has no zone of their own
  if (browsers) zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;

  // As internal/card's Span.
  function span(ms) {
    const s = Math.max(ms, 0) / 1000;
    if (s < 60) return `${Math.round(s)} s`;
    if (s < 90 * 60) return `${Math.round(s / 60)} min`;
    if (s < 48 * 3600) return `${Math.round(s / 3600)} h`;
    return `${Math.floor(s / 86400)} d`;
  }
  const said = {
    ago: (at, now) => (now - at < 60000 ? "just now" : `${span(now - at)} ago`),
    left: (at, now) => span(at - now),
    clock: (at) => (browsers ? new Date(at).toLocaleTimeString("en-GB") : null),
  };
  function times() {
    const now = Date.now();
    for (const t of document.querySelectorAll("time[data-time]")) {
      const at = Date.parse(t.dateTime);
      const text = said[t.dataset.time]?.(at, now);
      if (text != null && t.textContent !== text) t.textContent = text;
      if (browsers) t.title = new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "long" });
    }
  }
  times();
  setInterval(times, 15000);
  for (const name of ["htmx:sse:after:message", "htmx:after:swap"]) document.addEventListener(name, times);

  // A menu closes when something else is meant.
  const menu = document.querySelector(".menu");
  document.addEventListener("click", (e) => { if (menu?.open && !menu.contains(e.target)) menu.open = false; });
  menu?.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  const palette = document.getElementById("palette");
  if (!palette) return;
  const input = palette.querySelector("input"), list = palette.querySelector("ul");
  const code = /^[0-9a-z]{6}$/i;

  // Where the palette leads: pages, the requests that are on this one, a code that was typed, and a search.
  function places(typed) {
    const all = [...document.querySelectorAll(".top nav a, .top .me")].map((a) => [a.textContent.trim(), "", a.getAttribute("href")]);
    for (const row of document.querySelectorAll("[data-row][data-href]")) {
      all.push([row.id.slice(4), row.querySelector("h3 a").textContent.trim(), row.dataset.href]);
    }
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter(([name, more]) => words.every((w) => `${name} ${more}`.toLowerCase().includes(w))).slice(0, 12);
    if (code.test(typed)) found.push([typed.toUpperCase(), "open the request of this code", `/a/${typed.toUpperCase()}`]);
    if (typed) {
      found.push(["Inbox", `search what waits for “${typed}”`, `/?q=${encodeURIComponent(typed)}`]);
      found.push(["History", `search all requests for “${typed}”`, `/history?q=${encodeURIComponent(typed)}`]);
    }
    return found;
  }

  function fill() {
    const typed = input.value.trim().replace(/^\//, ""); // the key that opened it
    list.replaceChildren(...places(typed).map(([name, more, href], i) => {
      const item = document.createElement("li"), a = document.createElement("a"), rest = document.createElement("span");
      a.href = href;
      a.append(name, " ", rest);
      rest.textContent = more;
      a.toggleAttribute("data-at", i === 0);
      item.append(a);
      return item;
    }));
  }

  function choose(by) {
    const all = [...list.querySelectorAll("a")], at = all.findIndex((a) => a.hasAttribute("data-at"));
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    for (const a of all) a.toggleAttribute("data-at", a === next);
    next?.scrollIntoView({ block: "nearest" });
  }

  function open() {
    if (palette.open) return;
    input.value = "";
    fill();
    palette.showModal();
    input.focus();
  }
  input.addEventListener("input", fill);
  palette.addEventListener("keydown", (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) choose(by);
    else if (e.key === "Escape") palette.close(); // at once, also where the field would be emptied first
    else return;
    e.preventDefault();
  });
  palette.querySelector("form").addEventListener("submit", (e) => {
    const chosen = list.querySelector("[data-at]");
    if (!chosen) return;
    e.preventDefault();
    chosen.click();
  });
  palette.addEventListener("click", (e) => { if (e.target === palette) palette.close(); });
  for (const button of document.querySelectorAll("[data-palette]")) {
    button.hidden = false;
    button.addEventListener("click", open);
  }
  document.addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.closest?.("input, textarea, select") || document.querySelector("dialog[open]")) return;
    e.preventDefault();
    open();
  });
})();
