// Package local is what serve --local keeps: a configuration that is generated until
// somebody edits it, with the chats that the environment or a pairing names, and the
// client files with its two tokens.
package local

import (
	"approvalbot/config"
	"approvalbot/display"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Prepare writes what a desk on this machine needs into dir, as far as it
// is not there: a configuration and the client files with its tokens. The
// configuration is written anew at every start, because the chat may come from the
// environment, until it is edited. It gives the configuration's path.
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

// writeAll writes the configuration that follows old, which may be empty, and the
// client files with its tokens where they are not there.
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
	person := PersonOf(env)
	fmt.Fprintf(&b, `%sserver:
  listen: 127.0.0.1:8787
  tokens:
    - {name: local-agent, token: %q, scopes: [approvals.request], agentId: local}
    - {name: local-operator, token: %q, scopes: [operator.approvals, operator.audit, operator.admin], person: %q}
store:
  url: %q
  keyFile: %q
people:
  - {name: %q%s%s}
channels:
`, memory(chats), tokens[0], tokens[1], person,
		"sqlite:"+filepath.Join(dir, "approvalbot.db"), filepath.Join(dir, "approvalbot.key"), person,
		optional(", telegram: %q", chats["telegram"].User), optional(", discord: %q", chats["discord"].User))
	var targets []string
	for _, channel := range config.Platforms {
		c, prefix := chats[channel], strings.ToUpper(channel)+"_"
		fmt.Fprintf(&b, "  %s: {botToken: \"${%sBOT_TOKEN}\", allowedUserIds: [%s]%s}\n", channel, prefix,
			optional("%q", c.User), optional(", apiUrl: %q", env[prefix+"API_URL"]))
		if env[prefix+"BOT_TOKEN"] != "" && c.At.To != "" {
			targets = append(targets, YAMLTarget(c.At))
		}
	}
	fmt.Fprintf(&b, "approvals:\n  tools:\n    enabled: true\n    routing: {mode: both, targets: [%s]}\n", strings.Join(targets, ", "))
	return b.String()
}

// PersonOf is what the person at this machine is called on cards and in the log.
func PersonOf(env config.Environ) string {
	for _, name := range []string{env["USER"], env["LOGNAME"], env["USERNAME"]} {
		if config.GoodName(name) {
			return name
		}
	}
	return "operator"
}

// optional formats value, or gives nothing when it is empty.
func optional(format, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(format, value)
}

// Hints says what to do next, in lines that can be pasted as they are. Its
// request is another one at each start: a deny of the last one is not in the way.
func Hints(cfg config.Config, files ClientFiles, file *File) string {
	program, err := os.Executable()
	if err != nil {
		program = "approvalbot"
	}
	program = display.ShellPath(program)
	asks, decides := program+" --client "+display.ShellPath(files.Client), program+" --client "+display.ShellPath(files.Operator)
	if files == (ClientFiles{}) { // the configuration has tokens of the user's own
		asks = program + " --server " + cfg.LocalURL() + " --token TOKEN"
		decides = asks
	}
	var b strings.Builder
	b.WriteString(chatHint(file, cfg, decides))
	fmt.Fprintf(&b, `
Paste this into a second terminal. It asks for something harmless that surely
needs a person, and waits:

  %s request --tool demo.greet --params '{"say":"hello %s"}' --wait

Paste this into a third one. It shows what waits and takes your answer:

  %s watch

Whoever can read this file decides: run no agent as a user, or in a
folder, that can.

  %s

`, asks, strings.ToLower(rand.Text()[:4]), decides, cmp.Or(files.Operator, "a token with operator.approvals"))
	return b.String()
}

// chatHint says where cards go, or how they would get there. decides begins an
// operator's command.
func chatHint(file *File, cfg config.Config, decides string) string {
	t, x := cfg.Channels.Telegram, cfg.Channels.Discord
	mayDecide := t.On() && len(t.AllowedUserIDs) > 0 || x.On() && len(x.AllowedUserIDs) > 0
	missing := missingHere(file, cfg)
	switch {
	case missing != "":
		return fmt.Sprintf("\n%s was edited, so it is yours and is not written\n"+
			"anew. For the chat that the environment names, add to it what it lacks:\n\n%s\n", config.LocalFile, missing)
	case !t.On() && !x.On():
		return "\nNo chat is configured: decide in a terminal. To use one, start with\n" +
			"TELEGRAM_BOT_TOKEN or DISCORD_BOT_TOKEN in the environment (README: your first\nchat).\n"
	case !mayDecide || len(cfg.ApprovalTools().Routing.Targets) == 0:
		return fmt.Sprintf("\nA chat is on, but nobody there may decide yet. This shows a code for you to\n"+
			"send there:\n\n  %s pair\n", decides)
	}
	return "\nCards go to the chat.\n"
}

// missingHere is what an edited configuration lacks of the chats that the environment
// names; empty: nothing, or it is not edited.
func missingHere(file *File, cfg config.Config) string {
	chats, err := ChatsOf(file.Env)
	if err != nil || !file.edited() {
		return ""
	}
	var b strings.Builder
	on := map[string]bool{"telegram": cfg.Channels.Telegram.On(), "discord": cfg.Channels.Discord.On()}
	for _, channel := range config.Platforms {
		if c := chats[channel]; on[channel] && c.At.To != "" && c.User != "" {
			b.WriteString(Missing(cfg, c))
		}
	}
	return b.String()
}
