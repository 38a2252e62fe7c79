#!/usr/bin/env node
// Asks whether a command may run, and runs it only then:
//   APPROVALBOT_TOKEN=… ask.mjs CMD [ARG...]
// The desk is APPROVALBOT_SERVER, or the one on this machine. Exit status: the
// command's own, or 10 denied, 11 expired, 12 withdrawn, 1 anything else: not run.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

const url = (process.env.APPROVALBOT_SERVER ?? "http://127.0.0.1:8787").replace(/\/$/, "") + "/v1/approvals";

const notRun = (status, why) => Object.assign(new Error(why), { status });

// It may be sent again: the ids see to that. The token goes to no other server.
async function post(path, body, tries = 4) {
  const headers = { Authorization: `Bearer ${process.env.APPROVALBOT_TOKEN}`, "Content-Type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body), redirect: "manual", signal: AbortSignal.timeout(90_000) };
  const { status, text } = await fetch(url + path, request)
    .then(async (r) => ({ status: r.status, text: await r.text() }))
    .catch((e) => ({ status: 503, text: e.message }));
  if (status === 200 || status === 201) return JSON.parse(text);
  if (![429, 502, 503, 504].includes(status) || tries === 1) throw notRun(1, `${status} ${text}`);
  await sleep(1000);
  return post(path, body, tries - 1);
}

// The command's exit status, as a shell would give it. No shell is involved.
const run = ([program, ...args], cwd) => new Promise((done) => {
  spawn(program, args, { cwd, stdio: "inherit", shell: false })
    .on("error", (e) => { console.error("ask.mjs:", e.message); done(127); })
    .on("exit", (code, signal) => done(code ?? 128 + constants.signals[signal]));
});

async function ask(argv) {
  const params = { argv, workdir: process.cwd() };
  const request = { id: `ask-${randomUUID()}`, toolName: "exec", params };
  const claimId = randomUUID();
  let interrupted, answer, wait = "";
  const left = new Promise((_, leave) => { // nobody waits any more, so nobody is to be asked
    interrupted = () => { interrupted = null; post(`/${request.id}/withdraw`, { reason: "interrupted" })
      .then(() => leave(notRun(12, "interrupted; the request is withdrawn")), leave); };
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => interrupted?.());
  for (;;) {
    answer = await Promise.race([left, post(`?${wait}claim=1&claimId=${claimId}`, request)]);
    if (!interrupted) await left;
    if (answer.status !== "pending") break;
    if (!wait) console.error(`ask.mjs: waiting for approval ${answer.code}; Ctrl-C withdraws it`);
    wait = "wait=55s&";
  }
  interrupted = () => {}; // the command gets the signal itself
  if (answer.status !== "approved")
    throw notRun({ denied: 10, expired: 11, withdrawn: 12 }[answer.status] ?? 1, `${answer.status} ${answer.reason ?? ""}`);
  // Only the claim says what may run, and it must be what was asked.
  const { claim } = answer;
  if (claim?.toolName !== "exec" || !isDeepStrictEqual(claim.params, params)) throw notRun(1, "no claim of this very call");
  const code = await run(claim.params.argv, params.workdir);
  const result = { claimId: claim.claimId, status: code === 0 ? "succeeded" : "failed", exitCode: code };
  await post(`/${request.id}/result`, result).catch(() => console.error("ask.mjs: the result could not be reported"));
  return code;
}

const usage = "usage: APPROVALBOT_TOKEN=… ask.mjs CMD [ARG...]";
if (process.argv.length < 3 || !process.env.APPROVALBOT_TOKEN) { console.error(usage); process.exit(1); }
process.exit(await ask(process.argv.slice(2)).catch((e) => {
  console.error("ask.mjs: not run:", e.message);
  return e.status ?? 1;
}));
