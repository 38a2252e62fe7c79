// Signs a yes: what is signed is the call that this page shows, under the rules in force.
import { attempt, post, sign } from "./webauthn.js";

for (const form of document.querySelectorAll("[data-stepup]")) {
  const status = form.querySelector("[role=status]");
  attempt(form.querySelector("button"), status, async () => {
    const retry = "retry" in form.dataset;
    const path = `/a/${encodeURIComponent(form.dataset.stepup)}/stepup/`;
    const asked = await post(path + "begin", { fingerprint: form.dataset.fingerprint, policyHash: form.dataset.policy, retry, after: Number(form.dataset.after ?? 0) });
    const response = await sign(asked);
    const reason = form.querySelector("[name=reason]")?.value ?? "";
    const said = await post(path + "finish", { nonce: asked.nonce, reason, response, retry, withoutResult: "withoutResult" in form.dataset });
    status.textContent = said.text;
    form.dataset.signed = said.status;
  });
}
