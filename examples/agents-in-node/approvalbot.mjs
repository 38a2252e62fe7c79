// Asks the approval desk before a tool of an agent runs. One file, to copy; it needs Node 22 and nothing else.
//   const desk = connect();                            // APPROVALBOT_TOKEN, APPROVALBOT_SERVER
//   generateText({ …, toolApproval: toolApproval(desk) })                        // Vercel AI SDK 7
//   while (result.interruptions.length) result = await run(agent, await settle(desk, result));  // OpenAI Agents
//   agent.invoke(new Command({ resume: await decide(desk, interrupt) }), config) // LangChain
//   query({ prompt, options: { settingSources: [], ...claudeOptions(desk) } })   // Claude Agent SDK
//   execute: reported(desk, "bash", async ({ command }) => …)                    // and how each call ended
// Whatever goes wrong is a deny: only a claim of the very call that was asked for lets a tool run.
import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

export function connect({ server = process.env.APPROVALBOT_SERVER ?? "http://127.0.0.1:8787", token = process.env.APPROVALBOT_TOKEN,
  sessionKey = randomUUID(), reasons = {} } = {}) {
  // reasons: { bash: "reason" } names a tool's parameter in which its model says why: shown as its claim, and no part of the call.
  if (!token) throw new Error("approvalbot: there is no API token; set APPROVALBOT_TOKEN");
  const url = server.replace(/\/$/, "") + "/v1/approvals";

  // It may be sent again: the ids see to that. The token goes to no other server.
  async function post(path, body, tries = 4) {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(body), redirect: "manual", signal: AbortSignal.timeout(90_000) };
    const { status, text } = await fetch(url + path, request)
      .then(async (r) => ({ status: r.status, text: await r.text() }))
      .catch(() => ({ status: 503, text: "the approval desk was not reached" }));
    if (status === 200 || status === 201) return JSON.parse(text);
    if (![429, 502, 503, 504].includes(status) || tries === 1) throw new Error(`${text} (${status})`);
    await new Promise((next) => setTimeout(next, 1000));
    return post(path, body, tries - 1);
  }

  const claims = []; // of allowed calls whose end was not reported yet
  const apart = (toolName, { [reasons[toolName]]: said, ...what }) => [what, typeof said === "string" ? said.slice(0, 500) : undefined];

  // callId names the call: the same one again is the same question, and no second card.
  async function ask(toolName, input, { callId, justification, workdir = process.cwd() } = {}) {
    const [params, said] = apart(toolName, input ?? {});
    const id = createHash("sha256").update(`${sessionKey}\n${callId ?? randomUUID()}`).digest("hex");
    const request = { id, toolName, params, sessionKey, bind: { workdir }, justification: justification ?? said };
    const claimId = randomUUID(); // of this one question: a model that names its call again gets no second run
    try {
      let answer;
      do answer = await post(`?wait=55s&claim=1&claimId=${claimId}`, request);
      while (answer.status === "pending");
      if (answer.status !== "approved") return deny(outcome(answer));
      const same = answer.claim?.toolName === toolName && isDeepStrictEqual(answer.claim.params, params);
      if (!same) return deny("no claim of this very call");
      claims.push({ id, claimId, callId, toolName, params });
      return { allow: true, reason: answer.reason || "approved" };
    } catch (e) {
      return deny(e.message);
    }
  }

  // How an allowed call ended: of that callId, or the oldest one with that input. It has run, so an error here is the desk's alone.
  async function report(toolName, { callId, input, failed = false, exitCode }) {
    const same = (c) => c.toolName === toolName && (callId ? c.callId === callId : isDeepStrictEqual(c.params, apart(toolName, input)[0]));
    const [claim] = claims.splice(claims.findIndex(same) >>> 0, 1);
    const status = failed || exitCode ? "failed" : "succeeded";
    if (claim) await post(`/${claim.id}/result`, { status, exitCode, claimId: claim.claimId }).catch(() => {});
  }

  return { ask, report };
}

// A tool's function that reports how it ended; one that throws has failed, with the error's code where that is an exit status.
export const reported = (desk, toolName, execute) => async (input, ...more) => {
  try {
    const result = await execute(input, ...more);
    await desk.report(toolName, { input });
    return result;
  } catch (e) {
    await desk.report(toolName, { input, failed: true, exitCode: Number.isInteger(e.code) ? e.code : undefined });
    throw e;
  }
};

// "denied by alice: not on a Friday"
const outcome = ({ status, decidedBy = [], reason }) =>
  `${status}${decidedBy.length ? ` by ${decidedBy.map((d) => d.replace(/^person:/, "")).join(", ")}` : ""}${reason ? `: ${reason}` : ""}`;

const deny = (why) => ({ allow: false, reason: `approvalbot: not run: ${why}` });

// Vercel AI SDK 7: an option of generateText, streamText and agents. It never returns undefined, which would run the tool.
export const toolApproval = (desk) => async ({ toolCall }) => {
  const { allow, reason } = await desk.ask(toolCall.toolName, toolCall.input, { callId: toolCall.toolCallId });
  return { type: allow ? "approved" : "denied", reason };
};

// OpenAI Agents: tools with needsApproval: true interrupt the run; this settles all of its interruptions and gives the
// state to run on with. Keyed by callId, so a state that was stored and read again opens no second card.
export async function settle(desk, result) {
  for (const item of result.interruptions) {
    const call = { callId: item.rawItem.callId };
    const params = typeof item.arguments === "string" ? JSON.parse(item.arguments || "{}") : item.arguments;
    const { allow, reason } = await desk.ask(item.name, params, call);
    if (allow) result.state.approve(item);
    else result.state.reject(item, { message: reason });
  }
  return result.state;
}

// LangChain: what to resume humanInTheLoopMiddleware with, a decision for each request in order. Never ask in its `when`:
// that is called again at the resume, and when it then says false the tool runs, whatever was decided.
export async function decide(desk, interrupt) {
  const decisions = [];
  for (const [i, request] of interrupt.value.actionRequests.entries()) {
    const { allow, reason } = await desk.ask(request.name, request.args, { callId: `${interrupt.id}:${i}` });
    decisions.push(allow ? { type: "approve" } : { type: "reject", message: reason });
  }
  return { decisions };
}

// Claude Agent SDK: options of query. Hooks in code are asked whatever settingSources says; files of hooks are skipped by []. The
// SDK gives a hook 60 s unless its matcher says more, and then runs the call; what no hook has allowed canUseTool refuses.
export function claudeOptions(desk, { seconds = 86_400 } = {}) {
  const on = (hook) => [{ hooks: [hook], timeout: seconds }];
  const answer = (allow, reason) => ({ hookSpecificOutput: { hookEventName: "PreToolUse",
    permissionDecision: allow ? "allow" : "deny", permissionDecisionReason: reason } });
  const decided = async ({ tool_name, tool_input, cwd }, callId) => {
    const { description, ...command } = tool_input; // of Bash: the model's words about it
    const [params, justification] = tool_name === "Bash" ? [command, description] : [tool_input];
    const { allow, reason } = await desk.ask(tool_name, params, { callId, justification, workdir: cwd });
    return answer(allow, reason);
  };
  const broken = (e) => answer(false, deny(e.message).reason);
  return {
    hooks: {
      PreToolUse: on((input, callId) => decided(input, callId).catch(broken)),
      PostToolUse: on(async ({ tool_name }, callId) => (await desk.report(tool_name, { callId }), {})),
      PostToolUseFailure: on(async ({ tool_name, error }, callId) => {
        const exitCode = Number(/^Exit code (\d{1,3})(\n|$)/.exec(error)?.[1]) || undefined;
        return await desk.report(tool_name, { callId, failed: true, exitCode }), {};
      }),
    },
    canUseTool: async () => ({ behavior: "deny", message: deny("no hook has allowed it").reason }),
  };
}
