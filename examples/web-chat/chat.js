// The chat's own script: says what people and the agent say, and what became of approvals.
"use strict";
const said = document.getElementById("said");
const say = (who, text) => said.append(Object.assign(document.createElement("li"), { textContent: `${who}: ${text}` }));

document.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = event.target.elements.text.value;
  event.target.reset();
  say("you", text);
  const answer = await fetch("/say", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text }) });
  say("agent", answer.ok ? (await answer.json()).text : await answer.text());
});

// For people to read: what may run, the backend learns from the desk alone.
document.addEventListener("approval-resolved", ({ detail }) => {
  say("desk", `${detail.code} ${detail.decision ?? "was decided elsewhere, or has ended"} ${detail.status ?? ""}`.trim());
});
