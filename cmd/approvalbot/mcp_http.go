package main

import (
	"net/http"

	"approvalbot/hook/ask"
	"approvalbot/hook/mcp"
)

// mcpPath is where agents reach the desk over the Model Context Protocol.
const mcpPath = "/mcp"

// mcpHandler serves the tools of approvalbot mcp at the desk itself.
func (d *desk) mcpHandler() http.Handler {
	return mcp.Handler(mcp.Door{Knows: d.server.Knows, Server: func(w http.ResponseWriter, r *http.Request) mcp.Server {
		return mcp.Server{
			Desk:    ask.Desk{Client: d.server.Client(w, r), Stopping: d.server.Stopping()},
			Version: version,
		}
	}})
}
