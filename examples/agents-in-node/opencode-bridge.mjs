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
const soon = () => AbortSignal.timeout(30_000);
const asked = new Set(); // permissions that are being asked for

// OpenCode calls a server's tool SERVER_TOOL, and a repository chooses the server's name: what has an underscore may be
// anything, apply_patch too.
const named = (tool) => (tool.includes("_") ? `mcp__${tool}` : tool);

// What would run: the question alone leaves out where. The message that asks for the tool has the whole call.
async function whole({ sessionID, permission, patterns, metadata, tool }) {
  if (!tool) return [named(permission), { ...metadata, patterns }];
  const message = await fetch(`${base}/session/${sessionID}/message/${tool.messageID}${where}`, { headers, signal: soon() });
  const part = message.ok && (await message.json()).parts.find((p) => p.type === "tool" && p.callID === tool.callID);
  if (!part?.state?.input) throw new Error(`OpenCode does not show the call (${message.status})`);
  if (part.tool !== permission) return [named(permission), { ...metadata, patterns, tool: part.tool, input: part.state.input }];
  const { description, ...params } = part.state.input;
  const prose = part.tool === "bash" && typeof description === "string"; // the model's words about a command
  return prose ? [part.tool, params, description] : [named(part.tool), part.state.input];
}

async function decided(request) {
  try {
    const [tool, params, justification] = await whole(request);
    return await connect({ sessionKey: request.sessionID }).ask(tool, params, { callId: request.id, justification });
  } catch (e) {
    return { allow: false, reason: `approvalbot: not run: ${e.message}` };
  }
}

async function settle(request) {
  const { id } = request;
  if (asked.has(id)) return;
  asked.add(id);
  const { allow, reason } = await decided(request);
  const body = JSON.stringify(allow ? { reply: "once" } : { reply: "reject", message: reason }); // never "always"
  const reply = await fetch(`${base}/permission/${encodeURIComponent(id)}/reply${where}`, { method: "POST", headers, body, signal: soon() });
  console.log(`${id}: ${allow ? "allowed once" : reason}${reply.ok ? "" : ` (OpenCode did not take it: ${reply.status})`}`);
}

const settled = (request) => settle(request).catch((e) => { asked.delete(request.id); console.error("opencode-bridge:", e.message); });

// Events as they come, and what waited before the bridge was there. OpenCode never answers some of what it is asked while
// it starts, and later sends a heartbeat every ten seconds: whenever it is silent for longer, the bridge begins anew.
async function listen() {
  const silent = new AbortController();
  const silence = setTimeout(() => silent.abort(new Error("OpenCode is silent")), 30_000);
  try {
    const events = await fetch(`${base}/event${where}`, { headers, signal: silent.signal });
    if (!events.ok) throw new Error(`${base}/event answers ${events.status}`);
    const pending = await fetch(`${base}/permission${where}`, { headers, signal: silent.signal });
    if (pending.ok) for (const request of await pending.json()) settled(request);
    console.log("opencode-bridge: listening");
    let text = "";
    for await (const chunk of events.body.pipeThrough(new TextDecoderStream())) {
      silence.refresh();
      text += chunk;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const event = JSON.parse(text.slice(0, end).match(/^data: ?(.*)$/m)?.[1] ?? "{}");
        if (event.type === "permission.asked") settled(event.properties);
      }
    }
  } finally {
    clearTimeout(silence);
    silent.abort();
  }
}

for (;;) {
  await listen().catch((e) => console.error("opencode-bridge:", e.message));
  await sleep(1000);
}
