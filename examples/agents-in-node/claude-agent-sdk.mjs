// An agent on the Claude Agent SDK, with the desk in its code: npm i @anthropic-ai/claude-agent-sdk
//   APPROVALBOT_TOKEN=… ANTHROPIC_API_KEY=… node claude-agent-sdk.mjs "clean up the build folder"
// settingSources: [] reads no settings file, so a hook of approvalbot install would be skipped: here it is in the options.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { claudeOptions, connect } from "./approvalbot.mjs";

const options = { settingSources: [], permissionMode: "default", ...claudeOptions(connect()) };
for await (const message of query({ prompt: process.argv[2], options })) {
  if (message.type === "result") console.log(message.result ?? message.subtype);
}
