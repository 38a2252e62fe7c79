package local

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"approvalbot/internal/config"
	"approvalbot/internal/display"
	"approvalbot/internal/platform"
)

// Hints gives the next steps, as lines that can be pasted unchanged. Its sample
// request differs at each start, so that a deny of the last one does not block
// it.
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
	word := strings.ToLower(rand.Text()[:4])
	fmt.Fprintf(&b, `
Paste this into a second terminal. It asks, and runs only if you allow it:

  %s run -- sh -c 'date "+hello %s: you said yes, so this ran at %%T." | tee ~/said-yes.txt'

Paste this into a third one. It shows what waits; press y, and see the second:

  %s watch

That was R3: it writes outside a project. An R4 call takes the key twice:

  mkdir demo-%s && %s run -- rm -rfv demo-%s

In a browser instead, by a link that works once:

  %s login

This file decides. Run no agent as a user, or in a folder, that can read it:

  %s

`, asks, word, decides, word, asks, word, decides, cmp.Or(files.Operator, "a token with operator.approvals"))
	return b.String()
}

// chatHint tells which chats get cards, or how to set one up. decides begins an
// operator's command.
func chatHint(file *File, cfg config.Config, decides string) string {
	var on, mayDecide bool
	var tokens []string
	for _, r := range platform.Rows {
		bot := cfg.Channels.Bots[r.Name]
		on, mayDecide = on || bot.On(), mayDecide || bot.On() && len(bot.AllowedUserIDs) > 0
		tokens = append(tokens, r.Variable("bot_token"))
	}
	missing := missingHere(file, cfg)
	switch {
	case missing != "":
		return fmt.Sprintf("\n%s was edited, so it is yours and is not written\n"+
			"anew. For the chat that the environment names, add to it what it lacks:\n\n%s\n", config.LocalFile, missing)
	case !on:
		return "\nNo chat is on, so requests are decided in a terminal or in a browser. To use\n" +
			"one, start with " + platform.Join(tokens, "or") + " in the environment\n(README: your first chat).\n"
	case !mayDecide || len(cfg.ApprovalTools().Routing.Targets) == 0:
		return fmt.Sprintf("\nA chat is on, but no person there may decide yet. This shows a code for you to\n"+
			"send there:\n\n  %s pair\n", decides)
	}
	return "\nCards go to the chat.\n"
}

// missingHere is what an edited configuration lacks of the chats that the environment
// names; empty if it is complete, or is not edited.
func missingHere(file *File, cfg config.Config) string {
	chats, err := ChatsOf(file.Env)
	if err != nil || !file.edited() {
		return ""
	}
	var b strings.Builder
	for _, channel := range platform.Names() {
		if c := chats[channel]; cfg.Channels.Bots[channel].On() && c.At.To != "" && c.User != "" {
			b.WriteString(Missing(cfg, c))
		}
	}
	return b.String()
}
