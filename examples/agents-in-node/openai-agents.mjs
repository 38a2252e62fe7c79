// An agent with a shell, on OpenAI Agents: npm i @openai/agents zod
//   APPROVALBOT_TOKEN=… OPENAI_API_KEY=… node openai-agents.mjs "clean up the build folder"
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { connect, settle } from "./approvalbot.mjs";

setTracingDisabled(true);
const bash = tool({
  name: "bash", description: "Run a shell command", parameters: z.object({ command: z.string() }),
  needsApproval: true, // every call; a function here would be asked again at each resume
  execute: async ({ command }) => (await promisify(execFile)("bash", ["-c", command])).stdout,
});
const agent = new Agent({ name: "cleaner", instructions: "Use the shell.", tools: [bash], model: process.env.OPENAI_MODEL ?? "gpt-5" });
const desk = connect();
let result = await run(agent, process.argv[2]);
while (result.interruptions?.length) result = await run(agent, await settle(desk, result));
console.log(result.finalOutput);
