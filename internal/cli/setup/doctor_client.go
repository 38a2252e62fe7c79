package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/local"
)

// clientFindings names the tokens that may decide and that this user can read: an agent
// that runs approvalbot as this user could approve its own calls.
func clientFindings(a *app.App, cfg config.Config) []core.Diagnostic {
	var found []core.Diagnostic
	const apart = "give askers a token with approvals.request alone;" +
		" name the operator's client file with --client when it is needed"
	if t, decides := operatorOf(cfg, a.Env["APPROVALBOT_TOKEN"]); decides {
		found = append(found, core.Warn("client",
			fmt.Sprintf("APPROVALBOT_TOKEN is the operator's token %s, and every program started here has it", t), apart))
	}
	if server := a.Env["APPROVALBOT_SERVER"]; a.Env["APPROVALBOT_TOKEN"] != "" && strings.HasPrefix(server, "http:") {
		found = append(found, core.Warn("client", "APPROVALBOT_SERVER and APPROVALBOT_TOKEN pin no key, so any "+
			"program that answers at that address gets the token and is trusted as the desk",
			"write both into a client file, name that file in APPROVALBOT_CLIENT, and run: approvalbot admin "+
				"keys trust"))
	}
	path, _ := (&app.App{Env: a.Env}).ClientPath() // --client is the operator's own affair
	file, err := config.OpenClientFile(path)
	switch t, decides := operatorOf(cfg, string(file.Token)); {
	case path == "" || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		found = append(found, core.Warn("client", oneLine(err), ""))
	case decides:
		found = append(found, core.Warn("client",
			fmt.Sprintf("%s holds the operator's token %s, and every program of this user asks with it", path, t), apart))
	}
	return append(found, reachableFindings(a, cfg)...)
}

// reachableFindings looks for operators' client files in agents' workspaces.
func reachableFindings(a *app.App, cfg config.Config) []core.Diagnostic {
	dir, err := filepath.Abs(filepath.Dir(cfg.File))
	files, ok := local.FindClientFiles(dir, a.Env, cfg.HasToken)
	if err != nil || !ok {
		return nil
	}
	var found []core.Diagnostic
	for _, agent := range cfg.Agents.List {
		within := func(workspace string) bool {
			rel, err := filepath.Rel(workspace, files.Operator)
			return err == nil && filepath.IsLocal(rel)
		}
		if slices.ContainsFunc(agent.Workspace, within) {
			found = append(found, core.Warn("client",
				fmt.Sprintf("%s, which decides, is in the workspace of agent %s", files.Operator, agent.ID),
				"move the desk and its files out of the workspace, and run the agent as another user"))
		}
	}
	return found
}

// operatorOf names the token, if it may do more than ask.
func operatorOf(c config.Config, token string) (name string, ok bool) {
	for _, t := range c.Server.Tokens {
		if token != "" && string(t.Token) == token && strings.Contains(strings.Join(t.Scopes, " "), "operator.") {
			return t.Name, true
		}
	}
	return "", false
}
