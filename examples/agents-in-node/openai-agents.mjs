// An agent with a shell, on OpenAI Agents: npm i @openai/agents zod
//   APPROVALBOT_TOKEN=… OPENAI_API_KEY=… node openai-agents.mjs "clean up the build folder"
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { connect, reported, settle } from "./approvalbot.mjs";

setTracingDisabled(true);
const desk = connect({ reasons: { bash: "reason" } });
const bash = tool({
  name: "bash", description: "Run a shell command",
  parameters: z.object({ command: z.string(), reason: z.string().describe("Why, in one sentence") }),
  needsApproval: true, // every call; a function here would be asked again at each resume
  execute: reported(desk, "bash", async ({ command }) => (await promisify(execFile)("bash", ["-c", command])).stdout),
});
const agent = new Agent({ name: "cleaner", instructions: "Use the shell.", tools: [bash], model: process.env.OPENAI_MODEL ?? "gpt-5" });
let result = await run(agent, process.argv[2]);
while (result.interruptions?.length) result = await run(agent, await settle(desk, result));
console.log(result.finalOutput);
