package setup

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/config/local"
	"approvalbot/internal/display"
	"approvalbot/internal/platform"
)

// starter has the answers from which a starter configuration is made.
type starter struct {
	decide    string // a platform, or terminal
	tokenEnv  string // of the bot: the variable, or the file
	tokenFile string
	who       string // an account's id; on a terminal a person's name
	chat      string // the chat for cards; empty: that account's own chat with the bot
	secret    string // the bot's token, for a file of its own
}

func newInitCommand(a *app.App) *cobra.Command {
	var s starter
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a starter configuration, after three questions",
		Long: "Write a starter configuration into FILE (else approvalbot.yaml), which config check takes: in which chat people decide, which\n" +
			"token the bot has, and who decides. Flags answer the questions; what no flag says is asked. Fresh API tokens for an\n" +
			"agent and an operator go into files of their own beside it (0600), never into the configuration. No file that is\n" +
			"there is overwritten.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := cmp.Or(a.Config, "approvalbot.yaml")
			if len(args) > 0 {
				path = args[0]
			}
			return writeStarter(a, cmd, path, s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.decide, "decide", "", "the place in which people decide: "+places())
	f.StringVar(&s.tokenEnv, "token-env", "", "the environment variable with the bot's token")
	f.StringVar(&s.tokenFile, "token-file", "", "the file with the bot's token")
	f.StringVar(&s.who, "who", "", "who decides: a numeric user id; for terminal, a name")
	f.StringVar(&s.chat, "chat", "",
		"the chat that gets the cards, as /whoami says it there (else who decides gets them as direct messages)")
	cmd.MarkFlagsMutuallyExclusive("token-env", "token-file")
	return cmd
}

// writeStarter asks what no flag says and writes the files, all of them or, on an error,
// not one.
func writeStarter(a *app.App, cmd *cobra.Command, path string, s starter) error {
	dir, err := besideConfig(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s already exists and is not overwritten: name another file, or move that one away", path)
	}
	if err := askStarter(a, cmd, &s); err != nil {
		return err
	}
	text, err := s.yaml(dir, local.PersonOf(a.Env))
	if err != nil {
		return err
	}
	files, err := s.secrets(dir)
	if err != nil {
		return err
	}
	files = append(files, newFile{path, text})
	if err := writeNew(files); err != nil {
		return err
	}
	if _, _, err := effective.Load(path, a.Environ, nil); err != nil {
		return errors.Join(err, remove(files))
	}
	return sayStarted(a, path, files, s)
}

// besideConfig gives the directory for the files that a configuration names: empty for
// the working directory, because then their names are enough.
func besideConfig(path string) (dir string, err error) {
	if dir = filepath.Dir(path); dir == "." {
		return "", nil
	}
	return filepath.Abs(dir)
}

// terminal is where people decide without a chat.
const terminal = "terminal"

// places are the answers to where people decide, in words.
func places() string { return platform.Join(append(platform.Names(), terminal), "or") }

// isBotToken reports whether an answer is written as a platform writes its bots' tokens.
func isBotToken(answer string) bool {
	return slices.ContainsFunc(platform.Rows, func(r platform.Row) bool {
		return regexp.MustCompile("^(" + r.Token + ")$").MatchString(answer)
	})
}

// askStarter asks the questions that no flag has answered.
func askStarter(a *app.App, cmd *cobra.Command, s *starter) error {
	lines, _ := app.ReadLines(cmd.Context(), a.Stdin)
	ask := func(question, usual string) (string, error) {
		return askPerson(cmd.Context(), a, lines, question, usual)
	}
	var err error
	if s.decide == "" {
		if s.decide, err = ask("Where do people decide: "+places()+"?", platform.Rows[0].Name); err != nil {
			return err
		}
	}
	on := platform.ByName(s.decide)
	if on == nil && s.decide != terminal {
		return errors.New("people decide in " + places() + ": give one of these (--decide)")
	}
	if s.tokenEnv == "" && s.tokenFile == "" && on != nil {
		answer, err := ask("The bot's token: in which environment variable, or in which file?", on.Variable("bot_token"))
		if err != nil {
			return err
		}
		s.takeToken(answer)
	}
	if s.tokenEnv != "" && !config.IsVariable(s.tokenEnv) {
		return errors.New("--token-env must be the name of an environment variable, not the token itself")
	}
	if s.tokenFile != "" {
		if _, err := os.ReadFile(s.tokenFile); err != nil {
			return fmt.Errorf("the bot's token cannot be read from that file: %w", errors.Unwrap(err))
		}
	}
	if cmd.Flags().Changed("who") {
		return nil
	}
	if s.decide == terminal {
		s.who, err = ask("Who decides (a name)?", local.PersonOf(a.Env))
		return err
	}
	s.who, err = ask("Who decides: which user id (empty: approvalbot pair finds out later)?", "")
	return err
}

// takeToken takes the answer to the question for the place of the bot's token. An answer
// that is the token itself is written to a file.
func (s *starter) takeToken(answer string) {
	switch {
	case isBotToken(answer):
		s.secret = answer
	case config.IsVariable(answer):
		s.tokenEnv = answer
	default:
		s.tokenFile = answer
	}
}

// askPerson asks one question. An empty answer means usual.
func askPerson(ctx context.Context, a *app.App, lines <-chan string, question, usual string) (string, error) {
	if usual != "" {
		question += " [" + usual + "]"
	}
	fmt.Fprint(a.Stderr, question+" ")
	select {
	case line, ok := <-lines:
		if !ok {
			fmt.Fprintln(a.Stderr)
			return "", errors.New("the input has ended: answer with flags (approvalbot init --help)")
		}
		return cmp.Or(strings.TrimSpace(line), usual), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// newFile is a file that is not there yet.
type newFile struct{ path, text string }

// Files beside a starter configuration.
const (
	agentTokenFile    = "approvalbot.agent.token"
	operatorTokenFile = "approvalbot.operator.token"
	botTokenFile      = "approvalbot.bot.token"
)

// secrets are the files with fresh tokens, the client files with these, and the bot's token
// if it was given. The client files name the desk's socket; the desk adds its keys when it
// is started.
func (s *starter) secrets(dir string) ([]newFile, error) {
	asks, decides := rand.Text(), rand.Text()
	here, err := filepath.Abs(dir)
	client := func(token string) string {
		return fmt.Sprintf("server: %s\ntoken: %s\nsocket: %q\n", config.DefaultServer, token,
			filepath.Join(here, "approvalbot.sock"))
	}
	files := []newFile{
		{filepath.Join(dir, agentTokenFile), asks + "\n"},
		{filepath.Join(dir, operatorTokenFile), decides + "\n"},
		{filepath.Join(dir, local.DeskFiles.Client), client(asks)},
		{filepath.Join(dir, local.DeskFiles.Operator), client(decides)},
	}
	if s.secret != "" {
		files = append(files, newFile{filepath.Join(dir, botTokenFile), s.secret + "\n"})
	}
	return files, err
}

// writeNew writes files for their owner alone, all of them or, on an error, not one. It
// never overwrites a file.
func writeNew(files []newFile) error {
	for i, f := range files {
		w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s already exists and is not overwritten: remove it, or write into another "+
				"directory", f.path)
		}
		if err != nil {
			return errors.Join(err, remove(files[:i]))
		}
		_, err = w.WriteString(f.text)
		if err = errors.Join(err, w.Close()); err != nil {
			return errors.Join(err, remove(files[:i+1]))
		}
	}
	return nil
}

func remove(files []newFile) (err error) {
	for _, f := range files {
		err = errors.Join(err, os.Remove(f.path))
	}
	return err
}

// yaml is the configuration; the files that it names are in dir.
func (s *starter) yaml(dir, person string) (string, error) {
	c, err := s.localChat()
	if err != nil {
		return "", err
	}
	if s.decide == terminal {
		person = s.who
	}
	account, channels, targets := "", "", ""
	if s.decide != terminal {
		allowed := ""
		if c.User != "" {
			account, allowed = fmt.Sprintf(", %s: %q", s.decide, c.User), fmt.Sprintf("%q", c.User)
		}
		channels = fmt.Sprintf("channels:\n  %s: {%s, allowedUserIds: [%s]}\n", s.decide, s.botToken(dir), allowed)
	}
	if c.At.To != "" {
		targets = local.YAMLTarget(c.At)
	}
	return fmt.Sprintf(`# Made by approvalbot init; config.example.yaml has every key with its meaning.
server:
  listen: 127.0.0.1:8787
  tokens:
    - {name: agent, tokenFile: %q, scopes: [approvals.request], agentId: agent}
    - {name: operator, tokenFile: %q, scopes: [operator.approvals, operator.audit, operator.admin], person: %q}
store:
  url: %q
  keyFile: %q
people:
  - {name: %q%s}
%sapprovals:
  tools:
    enabled: true
    routing: {mode: both, targets: [%s]}
`, filepath.Join(dir, agentTokenFile), filepath.Join(dir, operatorTokenFile), person, "sqlite:"+filepath.Join(dir, "approvalbot.db"),
		filepath.Join(dir, "approvalbot.key"), person, account, channels, targets), nil
}

// localChat is the chat for cards, and the people who decide.
func (s *starter) localChat() (local.Chat, error) {
	on := platform.ByName(s.decide)
	if on == nil {
		return local.Chat{}, nil
	}
	chats, err := local.ChatsOf(config.Environ{on.PlaceVariable(): s.chat, on.UserVariable(): s.who})
	c := chats[s.decide]
	switch {
	case err != nil && s.chat != "":
		return c, fmt.Errorf("--who or --chat is not an id of %s: send /whoami to the bot, and give the id in the "+
			"answer", s.decide)
	case err != nil:
		return c, fmt.Errorf("that is not a user id of %s: give the number "+
			"that /whoami says, or leave it empty", s.decide)
	case c.At.To == "" && c.User != "":
		c.At = approval.DirectChat(s.decide, c.User)
	}
	return c, nil
}

// botToken gives the YAML that names the place of the bot's token.
func (s *starter) botToken(dir string) string {
	switch {
	case s.secret != "":
		return fmt.Sprintf("botTokenFile: %q", filepath.Join(dir, botTokenFile))
	case s.tokenFile != "" && dir != "" && !filepath.IsAbs(s.tokenFile):
		here, _ := filepath.Abs(s.tokenFile) // besideConfig has found the working directory
		return fmt.Sprintf("botTokenFile: %q", here)
	case s.tokenFile != "":
		return fmt.Sprintf("botTokenFile: %q", s.tokenFile)
	}
	return fmt.Sprintf("botToken: \"${%s}\"", s.tokenEnv)
}

// sayStarted lists the files that were written, and the next steps.
func sayStarted(a *app.App, path string, files []newFile, s starter) error {
	if a.JSON {
		written := []string{}
		for _, f := range files {
			written = append(written, f.path)
		}
		return a.PrintJSON(map[string]any{"config": path, "written": written})
	}
	fmt.Fprintf(a.Stdout, "Written, for you alone (0600):\n\n  %s\n", display.Escape(path))
	for _, f := range files[:len(files)-1] {
		fmt.Fprintf(a.Stdout, "  %s\n", display.Escape(f.path))
	}
	operator := "approvalbot --client " + display.ShellPath(files[3].path)
	fmt.Fprintf(a.Stdout, "\nNext:\n\n  approvalbot serve --config %s\n", display.ShellPath(path))
	if s.decide != "terminal" && s.who == "" {
		fmt.Fprintf(a.Stdout, "  %s pair     # in another terminal: who decides, and in which chat\n", operator)
	}
	fmt.Fprintf(a.Stdout, "  %s watch\n"+
		"  approvalbot --client %s run -- sh -c 'date \"+you said yes, so this ran at %%T.\" | tee ~/said-yes.txt'\n", operator, display.ShellPath(files[2].path))
	return nil
}
