#!/usr/bin/env node
// A toy web chat with an agent behind it, without dependencies: people see in the chat what
// waits for approval, and decide it in the desk's own window.
//
//   APPROVALBOT_SERVER=https://desk.example APPROVALBOT_TOKEN=… PORT=8080 node server.mjs
//
// The desk must know the chat: server.web.embedOrigins: ["http://localhost:8080"].
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const server = process.env.APPROVALBOT_SERVER ?? "http://localhost:8787";
const pages = process.env.APPROVALBOT_PAGES ?? server; // where browsers reach the desk
const file = (name) => readFileSync(new URL(name, import.meta.url), "utf8");
const files = { "/chat.js": ["text/javascript", file("chat.js")], "/chat.css": ["text/css", file("chat.css")] };
const page = file("index.html").replaceAll("{desk}", new URL(pages).origin);
const policy = `default-src 'none'; script-src 'self' ${new URL(pages).origin}; style-src 'self'; ` +
  `connect-src 'self' ${new URL(pages).origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ` +
  `require-trusted-types-for 'script'`;

async function desk(path, body) {
  const answer = await fetch(server + path, { method: "POST", body: JSON.stringify(body),
    headers: { Authorization: `Bearer ${process.env.APPROVALBOT_TOKEN}`, "Content-Type": "application/json" } });
  const text = await answer.json();
  if (!answer.ok) throw new Error(text.detail ?? text.title);
  return text;
}

// The toy agent: it wants to run whatever follows the word run, and never does. A real one
// would run claim.params here, and report the result.
async function agent(text, sessionKey) {
  const [, command] = /^run (.+)/.exec(text) ?? [];
  if (!command) return "Say: run, and a command.";
  const id = randomUUID();
  for (;;) {
    const a = await desk(`/v1/approvals?wait=25s&claim=1&claimId=${id}`,
      { id, toolName: "exec", params: { command }, sessionKey, justification: "asked for in the web chat" });
    if (a.claim) return `I may run: ${a.claim.params.command}`;
    if (a.status !== "pending") return `I did not run it: ${a.status}.`;
  }
}

// Who has a cookie has a session of their own; nobody gets a token for another one.
const sessionOf = (request) => /(?:^|; )chat=([0-9a-f-]{36})(?:;|$)/.exec(request.headers.cookie ?? "")?.[1];

async function answer(request, session) {
  let body = "";
  for await (const piece of request) if ((body += piece).length > 10_000) throw new Error("too long");
  if (request.headers["content-type"] !== "application/json") throw new Error("JSON only"); // no other site's form
  const said = JSON.parse(body);
  if (request.url === "/say") return { text: await agent(String(said.text), session) };
  if (said.sessionKey !== session) throw new Error("not your session");
  return desk("/v1/viewer-tokens", { sessionKey: session });
}

createServer(async (request, response) => {
  const cookie = sessionOf(request), session = cookie ?? randomUUID();
  const send = (status, type, text, more) => response.writeHead(status, { "Content-Type": type, ...more }).end(text);
  try {
    if (request.method === "POST" && cookie && ["/say", "/viewer-token"].includes(request.url)) {
      send(200, "application/json", JSON.stringify(await answer(request, cookie)));
    } else if (request.method === "GET" && request.url === "/") {
      send(200, "text/html; charset=utf-8", page.replaceAll("{session}", session), { "Content-Security-Policy": policy,
        "Set-Cookie": `chat=${session}; HttpOnly; SameSite=Strict; Path=/` });
    } else if (request.method === "GET" && files[request.url]) {
      send(200, ...files[request.url]);
    } else {
      send(404, "text/plain", "not found");
    }
  } catch (problem) {
    send(400, "text/plain", problem.message);
  }
}).listen(Number(process.env.PORT ?? 8080), process.env.HOST ?? "localhost", function () {
  console.log(`http://localhost:${this.address().port}`);
});
