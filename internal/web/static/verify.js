// Verifies the receipt on the page with the browser's own cryptography, and the desk's
// published keys.
"use strict";
(() => {
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const read = (text) => JSON.parse(new TextDecoder().decode(bytes(text)));

  async function verify(receipt) {
    const [head, body, signature] = receipt.trim().split(".");
    const { alg, kid } = read(head);
    if (alg !== "EdDSA") return `⛔ It is signed with ${alg}, which no desk does.`;
    const { keys } = await (await fetch("/.well-known/jwks.json")).json();
    const key = keys.find((k) => k.kid === kid);
    if (!key) return `⛔ It is signed with a key that this desk does not publish (${kid}).`;
    const raw = { kty: key.kty, crv: key.crv, x: key.x };
    const trusted = await crypto.subtle.importKey("jwk", raw, { name: "Ed25519" }, false, ["verify"]);
    const good = await crypto.subtle.verify({ name: "Ed25519" }, trusted, bytes(signature), new TextEncoder().encode(`${head}.${body}`));
    if (!good) return "⛔ The signature does not fit: the receipt was changed.";
    const fingerprint = document.querySelector(".details .hash")?.textContent;
    if (!JSON.stringify(read(body)).includes(fingerprint)) return "⛔ It is a good receipt, of another call.";
    return "✅ Signed by this desk, for this very call.";
  }

  function prepare() {
    const button = document.querySelector("[data-verify]");
    if (!button || !globalThis.crypto?.subtle || !button.hidden) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const say = document.querySelector("[data-verified]");
      try {
        say.textContent = await verify(document.querySelector("[data-receipt]").textContent);
      } catch (e) {
        say.textContent = `⛔ It could not be verified: ${e.message}`;
      }
    });
  }
  prepare();
  for (const name of ["htmx:sse:after:message", "htmx:after:swap"]) document.addEventListener(name, prepare);
})();
