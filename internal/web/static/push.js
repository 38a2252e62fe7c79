// Subscribes this browser to notifications, when its person asks for it.
"use strict";
(() => {
  const button = document.getElementById("push"), said = document.getElementById("push-said");
  if (!button) return;
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) {
    said.textContent = "This browser takes no notifications here.";
    return;
  }
  button.hidden = false;
  const key = Uint8Array.from(atob(button.dataset.key.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

  const same = (subscription) => {
    const used = new Uint8Array(subscription.options.applicationServerKey ?? []);
    return used.length === key.length && used.every((byte, i) => byte === key[i]);
  };

  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      if (await Notification.requestPermission() !== "granted") throw new Error("The browser does not allow it.");
      const worker = await navigator.serviceWorker.register("/static/sw.js");
      const before = await worker.pushManager.getSubscription();
      if (before && !same(before)) await before.unsubscribe(); // the desk has another key now
      await active(worker);
      const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
      const answer = await fetch("/me/push",
        { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(subscription) });
      if (!answer.ok) throw new Error(await answer.text());
      location.reload();
    } catch (problem) {
      said.textContent = problem.message;
      button.disabled = false;
    }
  });

  // A worker can be subscribed as soon as it is active.
  const active = (registration) => new Promise((done) => {
    const worker = registration.active ?? registration.waiting ?? registration.installing;
    const look = () => { if (worker.state === "activated") done(); };
    worker.addEventListener("statechange", look);
    look();
  });
})();
