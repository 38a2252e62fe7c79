// Hands on what Telegram has put behind the address of its Mini App (Mini Apps,
// "Initializing Mini Apps": tgWebAppData), and takes it out of sight. Telegram's own
// script is not needed for that.
"use strict";
const data = new URLSearchParams(location.hash.slice(1)).get("tgWebAppData");
if (data) {
  history.replaceState(null, "", location.pathname);
  const form = document.getElementById("telegram-form");
  document.getElementById("telegram-data").value = data;
  document.getElementById("telegram-wait").hidden = true;
  form.hidden = false;
  form.requestSubmit();
}
