// The dialog's buttons do nothing until its window has been looked at for a moment: a click
// that was meant for what stood there before decides nothing. A window too small to read does
// nothing at all.
"use strict";
(() => {
  const form = document.querySelector("form.dialog");
  if (form) {
    const buttons = form.querySelectorAll("button");
    const rest = Number(form.dataset.rest);
    let timer = 0, sent = false;
    const looked = () =>
      document.visibilityState === "visible" && document.hasFocus() && innerWidth >= 280 && innerHeight >= 320;
    const arm = (armed) => {
      form.elements.armed.value = armed ? "1" : "";
      for (const b of buttons) b.disabled = !armed;
    };
    const again = () => {
      clearTimeout(timer);
      arm(false);
      if (looked()) timer = setTimeout(() => arm(looked()), rest);
    };
    for (const name of ["focus", "blur", "pageshow", "resize"]) addEventListener(name, again);
    document.addEventListener("visibilitychange", again);
    form.addEventListener("submit", (event) => {
      if (sent || !form.elements.armed.value) event.preventDefault();
      sent = sent || Boolean(form.elements.armed.value);
    });
    addEventListener("pageshow", () => { sent = false; });
    again();
  }

  // What ends elsewhere, or in time, ends here: the desk is asked how it stands while somebody looks.
  if (form) {
    const ended = async () => {
      if (document.visibilityState !== "visible") return;
      const now = await fetch(location.pathname, { headers: { "X-Dialog": "state" }, cache: "no-store" });
      if (now.status === 204) location.replace(location.pathname);
    };
    setInterval(() => ended().catch(() => {}), 2000);
  }

  // Whoever opened the window is told how it was decided, if it is one of the origins that may know.
  const answer = document.getElementById("answer");
  if (answer && opener) {
    const message = JSON.parse(answer.dataset.answer);
    for (const origin of answer.dataset.origins.split(" ").filter(Boolean)) opener.postMessage(message, origin);
    if (message.status !== "pending") setTimeout(() => close(), 1500);
  }
})();
