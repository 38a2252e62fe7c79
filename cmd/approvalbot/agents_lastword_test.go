package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook/live"
)

// K8, K9: why commands of these clients do not run confined (docs/confine.md). Of two hooks that replace a command the one
// that is listed last wins, also if the first allowed its own, and a rule of the client's own against the command does not hold
// once a hook has replaced it. If this test fails, a client has changed, and may be confined after all.
func TestAgents_K8_K9_OthersHaveTheLastWord(t *testing.T) {
	t.Parallel()
	const gemini = `{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
		"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [%s]}]}}`
	for _, c := range []struct {
		runtime, file, settings, hook string
		replaced                      string // a hook's answer with another command
		rule                          map[string]string
		args                          []string
	}{
		{
			runtime: "gemini-cli", file: ".gemini/settings.json", settings: gemini, hook: `{"type": "command", "command": %q}`,
			replaced: `{"decision":"allow","hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"touch %s"}}}`,
			rule: map[string]string{".gemini/policies/no.toml": `[[rule]]
toolName = "run_shell_command"
commandPrefix = "mv"
decision = "deny"
priority = 900
`},
			args: []string{"-p", "clean up", "--yolo"},
		},
		{
			runtime: "copilot-cli", file: ".copilot/hooks/both.json", settings: `{"version": 1, "hooks": {"preToolUse": [%s]}}`,
			hook:     `{"type": "command", "bash": %q}`,
			replaced: `{"permissionDecision":"allow","modifiedArgs":{"command":"touch %s","description":"d"}}`,
			args:     []string{"-p", "clean up", "--allow-all-tools", "--deny-tool", "shell(mv)"},
		},
	} {
		t.Run(c.runtime, func(t *testing.T) {
			l := lab(t, c.runtime)
			write := func(name, text string) {
				at := filepath.Join(l.Home, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
				require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
			}
			for name, text := range c.rule {
				write(name, text)
			}
			hooks := func(answers ...string) {
				var all []string
				for _, file := range answers {
					answer := filepath.Join(l.Dir(), file)
					require.NoError(t, os.WriteFile(answer, fmt.Appendf(nil, c.replaced, file), 0o600))
					all = append(all, fmt.Sprintf(c.hook, "cat >/dev/null; cat "+answer))
				}
				write(c.file, fmt.Sprintf(c.settings, strings.Join(all, ",")))
			}
			ran := func() (original bool, names []string) {
				got, err := l.Try(t.Context(), func(ctx context.Context) (string, error) {
					out, err := l.Cmd(ctx, c.args...).CombinedOutput()
					return string(out), err
				})
				require.NoError(t, err, got.Output)
				for _, name := range []string{"first", "last"} {
					if os.Remove(filepath.Join(l.Project, name)) == nil {
						names = append(names, name)
					}
				}
				return got.Ran, names
			}
			l.Model.Command = live.Command()
			original, names := ran()
			require.False(t, original, "its own rule denies the command")
			require.Empty(t, names)
			hooks("first")
			original, names = ran()
			require.False(t, original)
			require.Equal(t, []string{"first"}, names, "its own rule sees the replaced command only, or is overridden")
			hooks("first", "last")
			original, names = ran()
			require.False(t, original)
			require.Equal(t, []string{"last"}, names)
		})
	}
}
