// An agent with a shell, on the Vercel AI SDK 7: npm i ai @ai-sdk/openai-compatible zod
//   APPROVALBOT_TOKEN=… OPENAI_BASE_URL=… OPENAI_API_KEY=… node vercel-ai.mjs "clean up the build folder"
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";
import { connect, reported, toolApproval } from "./approvalbot.mjs";

const desk = connect({ reasons: { bash: "reason" } });
const bash = tool({
  description: "Run a shell command",
  inputSchema: z.object({ command: z.string(), reason: z.string().describe("Why, in one sentence") }),
  execute: reported(desk, "bash", async ({ command }) => (await promisify(execFile)("bash", ["-c", command])).stdout),
});
const model = createOpenAICompatible({ name: "openai", baseURL: process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1", apiKey: process.env.OPENAI_API_KEY });
const { text } = await generateText({
  model: model(process.env.OPENAI_MODEL ?? "gpt-5"), tools: { bash }, prompt: process.argv[2],
  stopWhen: stepCountIs(5), toolApproval: toolApproval(desk),
});
console.log(text);
