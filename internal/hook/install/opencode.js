// Written by approvalbot install: asks the approval desk before every tool call of OpenCode.
// A tool runs only after approvalbot hook has allowed the very call; anything else throws, and OpenCode then does not run it.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const program = "JSPROGRAM";
const clientFile = "JSCLIENT";

const denied = (why) => new Error(`approvalbot: not run: ${why}`);

// Asks the program, in the words of Claude Code's hooks: it knows the desk, and checks what answers. Its status is 3 when it has one.
function ask(event, body, limit) {
  const args = ["JSHOOK", "claude-code", event, "--client", clientFile, "--limit", limit, "--caller", String(process.pid)];
  return new Promise((answer, fail) => {
    const gone = (e) => fail(denied(`approvalbot is not where it was installed, or broke down (${e.message})`));
    let out = "";
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] }).on("error", gone);
    child.stdout.setEncoding("utf8").on("data", (text) => { out += text; });
    child.stdin.on("error", () => {}).end(JSON.stringify({ ...body, hook_event_name: event }));
    child.on("close", (status) => (status === 3 ? answer(out) : gone(new Error(`status ${status}`))));
  });
}

const name = (text) => text.replace(/[^A-Za-z0-9._:-]/g, "-").slice(-120);

// OpenCode calls a server's tool SERVER_TOOL, and a repository chooses the server's name: what has an underscore may be
// anything, apply_patch too.
const named = (tool) => (tool.includes("_") ? `mcp__${tool}` : tool);

export const Approvalbot = async ({ directory }) => {
  const notes = new Map(); // what people said to the model with a yes, by call: it is read behind the call's result
  // Whoever looks whether the plugin is alive looks for this file: OpenCode says nothing when a plugin does not load.
  try { writeFileSync(fileURLToPath(import.meta.url) + ".heartbeat", new Date().toISOString() + "\n"); } catch {}
  const about = (input, args) => ({
    session_id: input.sessionID, tool_use_id: name(`${input.sessionID}:${input.callID}`), cwd: directory,
    tool_name: named(input.tool), tool_input: args,
  });
  return {
    "tool.execute.before": async (input, output) => {
      const asked = JSON.parse(JSON.stringify(output.args ?? {}));
      const text = await ask("PreToolUse", about(input, asked), "24h");
      let said;
      try { said = JSON.parse(text).hookSpecificOutput; } catch { throw denied("approvalbot gave no answer"); }
      if (said?.permissionDecision !== "allow") throw denied(said?.permissionDecisionReason ?? "approvalbot gave no decision");
      if (!isDeepStrictEqual(output.args ?? {}, asked)) throw denied("this is not the very call that was asked for");
      if (typeof said.additionalContext === "string") notes.set(input.callID, said.additionalContext);
    },
    // What throws in a tool never comes here, and a command without a status was cut off: then nothing is said of how it ended.
    "tool.execute.after": async (input, output) => {
      const note = notes.get(input.callID);
      notes.delete(input.callID);
      if (note && typeof output?.output === "string") output.output += `\n\n${note}`;
      else if (note && Array.isArray(output?.content)) output.content.push({ type: "text", text: note });
      const exit = output?.metadata?.exit;
      if (input.tool === "bash" && typeof exit !== "number") return;
      const failed = exit > 0 || output?.isError === true || output?.metadata?.isError === true;
      const how = failed ? { error: exit > 0 ? `Exit code ${exit}` : "" } : {};
      await ask(failed ? "PostToolUseFailure" : "PostToolUse", { ...about(input, {}), ...how }, "30s").catch(() => {});
    },
  };
};
