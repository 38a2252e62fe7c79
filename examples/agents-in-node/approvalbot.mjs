// Asks the approval desk before a tool of an agent runs. One file, to copy; it needs Node 22 and nothing else.
//   const desk = connect();                            // APPROVALBOT_TOKEN, APPROVALBOT_SERVER
//   generateText({ …, toolApproval: toolApproval(desk) })                        // Vercel AI SDK 7
//   while (result.interruptions.length) result = await run(agent, await settle(desk, result));  // OpenAI Agents
//   agent.invoke(new Command({ resume: await decide(desk, interrupt) }), config) // LangChain
// Whatever goes wrong is a deny: only a claim of the very call that was asked for lets a tool run.
import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

export function connect({ server = process.env.APPROVALBOT_SERVER ?? "http://127.0.0.1:8787", token = process.env.APPROVALBOT_TOKEN,
  sessionKey = randomUUID() } = {}) {
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

  // callId names the call: the same one again is the same question, and no second card.
  async function ask(toolName, params, { callId, justification } = {}) {
    const id = createHash("sha256").update(`${sessionKey}\n${callId ?? randomUUID()}`).digest("hex");
    const request = { id, toolName, params, sessionKey, bind: { workdir: process.cwd() }, ...(justification ? { justification } : {}) };
    const claimId = randomUUID(); // of this one question: a model that names its call again gets no second run
    try {
      let answer;
      do answer = await post(`?wait=55s&claim=1&claimId=${claimId}`, request);
      while (answer.status === "pending");
      if (answer.status !== "approved") return deny(outcome(answer));
      const same = answer.claim?.toolName === toolName && isDeepStrictEqual(answer.claim.params, params);
      return same ? { allow: true, reason: answer.reason || "approved" } : deny("no claim of this very call");
    } catch (e) {
      return deny(e.message);
    }
  }

  return { ask };
}

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
