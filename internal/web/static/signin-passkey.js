// Signs in with whichever passkey the person chooses.
import { attempt, post, sign } from "./webauthn.js";

// next is a page of the desk's own to go to, and no other.
function next() {
  const to = new URLSearchParams(location.search).get("next") ?? "/";
  const url = new URL(to, location.origin);
  return to.startsWith("/") && url.origin === location.origin ? url.pathname + url.search : "/";
}

attempt(document.querySelector("#passkey-signin"), document.querySelector("#passkey-signin-status"), async () => {
  const asked = await post("/signin/passkey/begin");
  await post("/signin/passkey/finish", { challenge: asked.challenge, response: await sign(asked) });
  location.assign(next());
});
