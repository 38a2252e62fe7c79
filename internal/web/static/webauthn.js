// What the pages that ask for a passkey share: the desk's words in base64url, and back.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

// post sends a request to the desk and gives its answer; a refusal is thrown with its code.
export async function post(path, body = {}) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(body),
    redirect: "error",
  }).catch(() => {
    throw new Error("The desk does not answer, or you are signed out: load the page again.");
  });
  const said = await answer.json().catch(() => ({ detail: "The desk gave no answer that can be read: try again." }));
  if (!answer.ok) throw Object.assign(new Error(said.detail), { code: said.code });
  return said;
}

// sign has a passkey answer what the desk asked.
export async function sign(asked) {
  const made = await navigator.credentials.get({
    publicKey: {
      challenge: bytes(asked.challenge),
      rpId: asked.rpId,
      timeout: asked.timeout,
      userVerification: asked.userVerification,
      allowCredentials: asked.allowCredentials.map((c) => ({ type: c.type, id: bytes(c.id) })),
    },
  });
  return {
    credentialId: text(made.rawId),
    authenticatorData: text(made.response.authenticatorData),
    clientDataJSON: text(made.response.clientDataJSON),
    signature: text(made.response.signature),
  };
}

// make has the person make a passkey, and gives what the desk keeps of it.
export async function make(options) {
  const made = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytes(options.challenge),
      user: { ...options.user, id: bytes(options.user.id) },
      excludeCredentials: (options.excludeCredentials ?? []).map((c) => ({ ...c, id: bytes(c.id) })),
    },
  });
  return {
    id: made.id,
    rawId: text(made.rawId),
    type: made.type,
    response: { attestationObject: text(made.response.attestationObject), clientDataJSON: text(made.response.clientDataJSON) },
    clientExtensionResults: {},
  };
}

// attempt runs what a button does, with the button inert meanwhile, and says in the
// page's status what went wrong.
export function attempt(button, status, work) {
  if (!window.PublicKeyCredential) {
    status.textContent = "This browser has no passkeys.";
    return;
  }
  button.disabled = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    status.textContent = "Your device asks you now …";
    try {
      await work();
    } catch (e) {
      status.textContent =
        e.name === "NotAllowedError" ? "You did not sign: it was cancelled, or took too long."
        : e.name === "InvalidStateError" ? "That device has a passkey of yours for this desk already."
        : e.message;
      button.disabled = false;
    }
  });
}
