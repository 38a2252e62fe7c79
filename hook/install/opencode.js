// Written by approvalbot install: asks the approval desk before every tool call of OpenCode.
// A tool runs only after the desk has handed the very call back; anything else throws, and OpenCode then does not run it.
import { randomUUID } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const clientFile = "JSCLIENT";

const denied = (why) => new Error(`approvalbot: not run: ${why}`);

// The desk and the token, read anew for each call: a token may be replaced.
function desk() {
  if (process.platform !== "win32" && statSync(clientFile).mode & 0o077) throw denied(`others can read ${clientFile}; chmod 600 it`);
  const text = readFileSync(clientFile, "utf8");
  const get = (name) => text.match(new RegExp(`^${name}:[ \\t]*["']?([^"'\\r\\n]+?)["']?[ \\t]*$`, "m"))?.[1];
  const token = get("token");
  if (!token) throw denied(`there is no token in ${clientFile}`);
  return { url: (get("server") ?? "http://127.0.0.1:8787").replace(/\/$/, "") + "/v1/approvals", token };
}

// Bun's fetch asks the environment for proxies and for trust, and the answer decides: the desk is asked directly.
function direct(url) {
  const { host, hostname } = new URL(url);
  for (const list of ["NO_PROXY", "no_proxy"]) {
    const names = (process.env[list] ?? "").split(",").filter(Boolean);
    if (!names.includes(hostname)) process.env[list] = [...names, hostname, host].join(",");
  }
  return { tls: { rejectUnauthorized: true } };
}

// It may be sent again: the ids see to that. The token goes to no other server.
async function post(path, body, tries = 4) {
  const { url, token } = desk();
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body), redirect: "manual", signal: AbortSignal.timeout(90_000), ...direct(url) };
  const { status, text } = await fetch(url + path, request)
    .then(async (r) => ({ status: r.status, text: await r.text() }))
    .catch(() => ({ status: 503, text: "the approval desk was not reached" }));
  if (status === 200 || status === 201) return JSON.parse(text);
  if (![429, 502, 503, 504].includes(status) || tries === 1) {
    let why = text;
    try { why = JSON.parse(text).detail ?? text; } catch {}
    throw denied(`${why} (${status})`);
  }
  await new Promise((next) => setTimeout(next, 1000));
  return post(path, body, tries - 1);
}

const name = (text) => text.replace(/[^A-Za-z0-9._:-]/g, "-").slice(-120);

// "denied by alice: not on a Friday"
const outcome = ({ status, decidedBy = [], reason }) =>
  `${status}${decidedBy.length ? ` by ${decidedBy.map((d) => d.replace(/^person:/, "")).join(", ")}` : ""}${reason ? `: ${reason}` : ""}`;

// OpenCode calls a server's tool SERVER_TOOL, and a repository chooses the server's name: what has an underscore may be
// anything, apply_patch too.
const named = (tool) => (tool.includes("_") ? `mcp__${tool}` : tool);

// The model's words about a command are no part of what runs. Of any other tool they are: an issue's text, say.
function split(tool, args) {
  const { description, ...params } = args ?? {};
  const prose = tool === "bash" && typeof description === "string";
  if (description !== undefined && !prose) params.description = description;
  return { params, ...(prose && description ? { justification: description.slice(0, 2000) } : {}) };
}

export const Approvalbot = async ({ directory }) => {
  // Whoever looks whether the plugin is alive looks for this file: OpenCode says nothing when a plugin does not load.
  try { writeFileSync(fileURLToPath(import.meta.url) + ".heartbeat", new Date().toISOString() + "\n"); } catch {}
  const claims = new Map(); // a call's id to the id of the claim that it runs by
  return {
    "tool.execute.before": async (input, output) => {
      const request = {
        id: name(`${input.sessionID}:${input.callID}`), toolName: named(input.tool), sessionKey: input.sessionID,
        bind: { workdir: directory }, ...split(input.tool, output.args),
      };
      const claimId = randomUUID();
      let answer;
      do answer = await post(`?wait=55s&claim=1&claimId=${claimId}`, request);
      while (answer.status === "pending");
      if (answer.status !== "approved") throw denied(outcome(answer));
      const { claim } = answer; // only a claim says what may run, and it must be what runs now
      const { params } = split(input.tool, output.args);
      if (claim?.toolName !== named(input.tool) || !isDeepStrictEqual(claim.params, params)) throw denied("no claim of this very call");
      claims.set(input.callID, claim.claimId);
    },
    "tool.execute.after": async (input) => {
      const claimId = claims.get(input.callID);
      claims.delete(input.callID);
      await post(`/${name(`${input.sessionID}:${input.callID}`)}/result`, { status: "succeeded", claimId }, 1).catch(() => {});
    },
  };
};
