#!/usr/bin/env node
// Answers what `opencode serve` asks its user, by the approval desk: for servers that nobody sits at.
//   OPENCODE_SERVER_PASSWORD=… opencode serve --port 4096          with "permission": {"bash": "ask", …} in opencode.json
//   OPENCODE_SERVER_PASSWORD=… APPROVALBOT_TOKEN=… opencode-bridge.mjs http://127.0.0.1:4096 [DIRECTORY]
// OpenCode waits until it is answered, so a desk or a bridge that is down runs nothing. What OpenCode does not ask is not
// seen: the plugin of `approvalbot install opencode` sees every call.
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "./approvalbot.mjs";

const [server, directory = process.cwd()] = process.argv.slice(2);
if (!server) { console.error("usage: opencode-bridge.mjs SERVER [DIRECTORY]"); process.exit(1); }
const base = server.replace(/\/$/, ""), where = `?directory=${encodeURIComponent(directory)}`;
const headers = { "Content-Type": "application/json" };
if (process.env.OPENCODE_SERVER_PASSWORD)
  headers.Authorization = "Basic " + Buffer.from(`opencode:${process.env.OPENCODE_SERVER_PASSWORD}`).toString("base64");
const asked = new Set(); // permissions that are being asked for

async function settle({ id, sessionID, permission, patterns, metadata }) {
  if (asked.has(id)) return;
  asked.add(id);
  const desk = connect({ sessionKey: sessionID });
  const { allow, reason } = await desk.ask(permission, { ...metadata, patterns }, { callId: id });
  const body = JSON.stringify(allow ? { reply: "once" } : { reply: "reject", message: reason }); // never "always"
  const reply = await fetch(`${base}/permission/${encodeURIComponent(id)}/reply${where}`, { method: "POST", headers, body });
  console.log(`${id}: ${allow ? "allowed once" : reason}${reply.ok ? "" : ` (OpenCode did not take it: ${reply.status})`}`);
}

const settled = (request) => settle(request).catch((e) => { asked.delete(request.id); console.error("opencode-bridge:", e.message); });

// Events as they come, and what waited before the bridge was there.
async function listen() {
  const events = await fetch(`${base}/event${where}`, { headers });
  if (!events.ok) throw new Error(`${base}/event answers ${events.status}`);
  const pending = await fetch(`${base}/permission${where}`, { headers });
  if (pending.ok) for (const request of await pending.json()) settled(request);
  console.log("opencode-bridge: listening");
  let text = "";
  for await (const chunk of events.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const event = JSON.parse(text.slice(0, end).match(/^data: ?(.*)$/m)?.[1] ?? "{}");
      if (event.type === "permission.asked") settled(event.properties);
    }
  }
}

for (;;) {
  await listen().catch((e) => console.error("opencode-bridge:", e.message));
  await sleep(1000);
}
