package daemon

import (
	"net/http"

	"approvalbot/internal/hook/ask"
	"approvalbot/internal/hook/mcp"
)

// MCPPath is the path at which agents reach the desk over the Model Context
// Protocol.
const MCPPath = "/mcp"

// mcpHandler serves the tools of approvalbot mcp at the desk itself.
func (d *Daemon) mcpHandler() http.Handler {
	return mcp.Handler(mcp.Door{Knows: d.Server.Knows, Server: func(w http.ResponseWriter, r *http.Request) mcp.Server {
		return mcp.Server{
			Desk:    ask.Approvals{Client: d.Server.Client(w, r), Stopping: d.Server.Stopping()},
			Version: d.options.Version,
			Log:     d.log,
		}
	}})
}
