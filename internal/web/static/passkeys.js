// Makes passkeys on the page of a person's passkeys.
import { attempt, make, post, sign } from "./webauthn.js";

const status = document.querySelector("#passkey-status");

async function confirm() {
  const asked = await post("/me/passkeys/confirm/begin");
  await post("/me/passkeys/confirm/finish", { challenge: asked.challenge, response: await sign(asked) });
}

const add = document.querySelector("#add-passkey");
if (add) {
  attempt(add, status, async () => {
    const options = await post("/me/passkeys/begin");
    const credential = await make(options);
    const name = document.querySelector("#passkey-name").value;
    await post("/me/passkeys/finish", { challenge: options.challenge, name, credential });
    location.reload();
  });
}

const prove = document.querySelector("#confirm-passkey");
if (prove) {
  attempt(prove, status, async () => {
    await confirm();
    location.reload();
  });
}
