// An MCP server of the official SDK, on standard streams or, with a word, over HTTP.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { createServer } from "node:http";
const from = createRequire(process.env.MCP_SDK + "/package.json");
const load = (path) => import(pathToFileURL(from.resolve("@modelcontextprotocol/sdk/" + path)));
const { McpServer } = await load("server/mcp.js");

function shop() {
  const server = new McpServer({ name: "shop", version: "1" });
  server.registerTool("order", { description: "Orders something.", annotations: { destructiveHint: true } },
    async () => ({ content: [{ type: "text", text: "ordered" }] }));
  server.registerResource("list", "shop://list", { mimeType: "text/plain" },
    async (uri) => ({ contents: [{ uri: uri.href, text: "tea" }] }));
  return server;
}

if (process.argv[2] === "http") {
  const { StreamableHTTPServerTransport } = await load("server/streamableHttp.js");
  const sessions = new Map();
  const http = createServer(async (req, res) => {
    if (req.headers["x-key"] !== "sesame") return res.writeHead(401).end();
    let transport = sessions.get(req.headers["mcp-session-id"]);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "s" + sessions.size,
        onsessioninitialized: (id) => { sessions.set(id, transport); } });
      await shop().connect(transport);
    }
    await transport.handleRequest(req, res);
  });
  http.listen(0, "127.0.0.1", () => console.log(http.address().port));
} else {
  const { StdioServerTransport } = await load("server/stdio.js");
  await shop().connect(new StdioServerTransport());
}
