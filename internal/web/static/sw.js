// Shows that an approval waits, and opens its page. It knows nothing and decides nothing: what
// is true stands on the page, for who is signed in.
"use strict";

const plain = (text, most) => String(text ?? "").slice(0, most);
const codeOf = (data) => (/^[0-9A-Z]{6}$/.test(data?.code) ? data.code : "");

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("push", (event) => {
  let told = {};
  try {
    told = event.data.json();
  } catch {
    // shown all the same: browsers take the subscription away where a push shows nothing
  }
  const code = codeOf(told);
  event.waitUntil(self.registration.showNotification(
    `Approval ${code} waits for you`.replace("  ", " "),
    { body: `${plain(told.risk, 4)} · ${plain(told.tool, 80)}`, tag: code || "approvalbot", data: { code },
      icon: "/static/icon-192.png", badge: "/static/badge.png", requireInteraction: told.risk === "R4" }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const code = codeOf(event.notification.data);
  event.waitUntil(self.clients.openWindow(code ? `/a/${code}` : "/"));
});
