// Package local manages the files of serve --local: a configuration that is
// generated until it is edited, with the chats that the environment or a pairing
// names, and the client files with its two tokens.
package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"approvalbot/internal/config"
	"approvalbot/internal/platform"
)

// Prepare writes the missing files of a desk on this machine into dir: a
// configuration and the client files with its tokens. The configuration is written
// anew at every start, because the chat may come from the environment, until it is
// edited. It gives the configuration's path.
func Prepare(dir string, env config.Environ) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, config.LocalFile)
	old, err := os.ReadFile(path)
	switch {
	case err == nil && !stillGenerated(string(old)):
		return path, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return path, writeAll(dir, remembering(env, string(old)), string(old))
}

// writeAll writes the configuration that follows old, which may be empty, and
// those client files with its tokens that are missing.
func writeAll(dir string, env config.Environ, old string) error {
	chats, err := ChatsOf(env)
	if err != nil {
		return err
	}
	asks, decides, err := tokensIn(dir, env, old)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, config.LocalFile), generated(yamlOf(dir, [2]string{asks, decides}, env, chats)))
}

// yamlOf is the generated configuration for those chats. tokens are the asker's
// and the operator's.
func yamlOf(dir string, tokens [2]string, env config.Environ, chats map[string]Chat) string {
	var b strings.Builder
	person, accounts := PersonOf(env), ""
	for _, channel := range platform.Names() {
		accounts += optional(", "+channel+": %q", chats[channel].User)
	}
	fmt.Fprintf(&b, `%sserver:
  listen: 127.0.0.1:8787
  tokens:
    - {name: local-agent, token: %q, scopes: [approvals.request], agentId: local}
    - {name: local-operator, token: %q, scopes: [operator.approvals, operator.audit, operator.admin], person: %q}
store:
  url: %q
  keyFile: %q
people:
  - {name: %q%s}
channels:
`, memory(chats), tokens[0], tokens[1], person,
		"sqlite:"+filepath.Join(dir, "approvalbot.db"), filepath.Join(dir, "approvalbot.key"), person, accounts)
	var targets []string
	for _, on := range platform.Rows {
		c, token := chats[on.Name], on.Variable("bot_token")
		fmt.Fprintf(&b, "  %s: {botToken: \"${%s}\", allowedUserIds: [%s]%s}\n", on.Name, token,
			optional("%q", c.User), optional(", apiUrl: %q", env[on.Variable("api_url")]))
		if env[token] != "" && c.At.To != "" {
			targets = append(targets, YAMLTarget(c.At))
		}
	}
	fmt.Fprintf(&b, "approvals:\n  tools:\n    enabled: true\n    routing: {mode: both, targets: [%s]}\n", strings.Join(targets, ", "))
	return b.String()
}

// PersonOf is the name of the person at this machine on cards and in the log.
func PersonOf(env config.Environ) string {
	for _, name := range []string{env["USER"], env["LOGNAME"], env["USERNAME"]} {
		if config.GoodName(name) {
			return name
		}
	}
	return "operator"
}
