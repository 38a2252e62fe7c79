// An agent with a shell, on LangChain: npm i langchain @langchain/openai @langchain/langgraph zod
//   APPROVALBOT_TOKEN=… OPENAI_API_KEY=… node langchain.mjs "clean up the build folder"
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Command, MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, humanInTheLoopMiddleware, tool } from "langchain";
import { z } from "zod";
import { connect, decide, reported } from "./approvalbot.mjs";

const desk = connect({ reasons: { bash: "reason" } });
const bash = tool(reported(desk, "bash", async ({ command }) => (await promisify(execFile)("bash", ["-c", command])).stdout),
  { name: "bash", description: "Run a shell command", schema: z.object({ command: z.string(), reason: z.string().describe("Why, in one sentence") }) });
const agent = createAgent({
  model: new ChatOpenAI({ model: process.env.OPENAI_MODEL ?? "gpt-5", configuration: { baseURL: process.env.OPENAI_BASE_URL } }),
  tools: [bash], checkpointer: new MemorySaver(),
  middleware: [humanInTheLoopMiddleware({ interruptOn: { bash: { allowedDecisions: ["approve", "reject"] } } })], // no `when`
});
const config = { configurable: { thread_id: crypto.randomUUID() } };
let state = await agent.invoke({ messages: [{ role: "user", content: process.argv[2] }] }, config);
while (state.__interrupt__?.length)
  state = await agent.invoke(new Command({ resume: await decide(desk, state.__interrupt__[0]) }), config);
console.log(state.messages.at(-1).text);
