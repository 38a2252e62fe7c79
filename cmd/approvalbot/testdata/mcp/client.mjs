// A client of the official SDK. It reads one step a line: {method, params}; it writes one
// answer a line. Its words are a command whose streams speak MCP, or an address.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
const from = createRequire(process.env.MCP_SDK + "/package.json");
const load = (path) => import(pathToFileURL(from.resolve("@modelcontextprotocol/sdk/" + path)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const [command, ...args] = process.argv.slice(2);
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: "Bearer " + args[0] } } })
  : new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
for await (const line of createInterface({ input: process.stdin })) {
  const { method, params } = JSON.parse(line);
  try {
    console.log(JSON.stringify(await client[method](params)));
  } catch (e) {
    console.log(JSON.stringify({ failed: String(e) }));
  }
}
await client.close();
