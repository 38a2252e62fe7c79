package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const localConfig = "approvalbot.local.yaml"

// prepareLocal writes what a desk on this machine needs into dir, as far as it
// is not there: a configuration and the client files with its tokens. The
// configuration is written anew at every start, because the chat may come from the
// environment, until it is edited. It gives the configuration's path.
func prepareLocal(dir string, env environ) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, localConfig)
	old, err := os.ReadFile(path)
	switch {
	case err == nil && !stillGenerated(string(old)):
		return path, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return path, writeLocal(dir, remembering(env, string(old)), string(old))
}

// writeLocal writes the configuration that follows old, which may be empty, and the
// client files with its tokens where they are not there.
func writeLocal(dir string, env environ, old string) error {
	chats, err := localChats(env)
	if err != nil {
		return err
	}
	asks, decides, err := localTokens(dir, env, old)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, localConfig), generated(localYAML(dir, [2]string{asks, decides}, env, chats)))
}

// localYAML is the generated configuration for those chats. tokens are the asker's
// and the operator's.
func localYAML(dir string, tokens [2]string, env environ, chats map[string]localChat) string {
	var b strings.Builder
	person := localPerson(env)
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
		optional(", telegram: %q", chats["telegram"].user), optional(", discord: %q", chats["discord"].user))
	var targets []string
	for _, channel := range platforms {
		c, prefix := chats[channel], strings.ToUpper(channel)+"_"
		fmt.Fprintf(&b, "  %s: {botToken: \"${%sBOT_TOKEN}\", allowedUserIds: [%s]%s}\n", channel, prefix,
			optional("%q", c.user), optional(", apiUrl: %q", env[prefix+"API_URL"]))
		if env[prefix+"BOT_TOKEN"] != "" && c.at.To != "" {
			targets = append(targets, yamlTarget(c.at))
		}
	}
	fmt.Fprintf(&b, "approvals:\n  tools:\n    enabled: true\n    routing: {mode: both, targets: [%s]}\n", strings.Join(targets, ", "))
	return b.String()
}

// localPerson is what the person at this machine is called on cards and in the log.
func localPerson(env environ) string {
	for _, name := range []string{env["USER"], env["LOGNAME"], env["USERNAME"]} {
		if goodName(name) {
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

// localHints says what to do next, in lines that can be pasted as they are. Its
// request is another one at each start: a deny of the last one is not in the way.
func localHints(cfg Config, files clientFiles, file *localFile) string {
	program, err := os.Executable()
	if err != nil {
		program = "approvalbot"
	}
	program = shellWord(program)
	asks, decides := program+" --client "+shellWord(files.client), program+" --client "+shellWord(files.operator)
	if files == (clientFiles{}) { // the configuration has tokens of the user's own
		asks = program + " --server " + cfg.localURL() + " --token TOKEN"
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

`, asks, strings.ToLower(rand.Text()[:4]), decides, cmp.Or(files.operator, "a token with operator.approvals"))
	return b.String()
}

// chatHint says where cards go, or how they would get there. decides begins an
// operator's command.
func chatHint(file *localFile, cfg Config, decides string) string {
	t, x := cfg.Channels.Telegram, cfg.Channels.Discord
	mayDecide := t.On() && len(t.AllowedUserIDs) > 0 || x.On() && len(x.AllowedUserIDs) > 0
	missing := missingHere(file, cfg)
	switch {
	case missing != "":
		return fmt.Sprintf("\n%s was edited, so it is yours and is not written\n"+
			"anew. For the chat that the environment names, add to it what it lacks:\n\n%s\n", localConfig, missing)
	case !t.On() && !x.On():
		return "\nNo chat is configured: decide in a terminal. To use one, start with\n" +
			"TELEGRAM_BOT_TOKEN or DISCORD_BOT_TOKEN in the environment (README: your first\nchat).\n"
	case !mayDecide || len(cfg.approvals().Routing.Targets) == 0:
		return fmt.Sprintf("\nA chat is on, but nobody there may decide yet. This shows a code for you to\n"+
			"send there:\n\n  %s pair\n", decides)
	}
	return "\nCards go to the chat.\n"
}

// missingHere is what an edited configuration lacks of the chats that the environment
// names; empty: nothing, or it is not edited.
func missingHere(file *localFile, cfg Config) string {
	chats, err := localChats(file.env)
	if err != nil || !file.edited() {
		return ""
	}
	var b strings.Builder
	on := map[string]bool{"telegram": cfg.Channels.Telegram.On(), "discord": cfg.Channels.Discord.On()}
	for _, channel := range platforms {
		if c := chats[channel]; on[channel] && c.at.To != "" && c.user != "" {
			b.WriteString(missingLines(cfg, c))
		}
	}
	return b.String()
}

// shellWord quotes a path for a POSIX shell where it needs it.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
