// Package agent is the verbs that agents' runtimes start: hooks, MCP, a proxy before
// other MCP servers, ACP, confinement.
package agent

import (
	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
)

// Commands are the verbs that agents' runtimes start.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newHookCommand(a), newMCPCommand(a), newMCPProxyCommand(a), newACPCommand(a),
		newConfineCommand(a), newBesideCommand(a)}
}
