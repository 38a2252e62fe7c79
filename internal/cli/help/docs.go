package help

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/platform"
)

// Page is a page of reference in Markdown that a room writes about itself.
type Page struct {
	Name, Short string
	Text        func() string
}

// DocsCommand prints reference that the described parts write themselves: the commands,
// and the pages of other rooms. It needs no running desk.
func DocsCommand(a *app.App, pages ...Page) *cobra.Command {
	cmd := &cobra.Command{Use: "docs",
		Short: "Print reference: commands, routes, reason codes, programs; or write manual pages"}
	for _, p := range pages {
		cmd.AddCommand(&cobra.Command{Use: p.Name, Short: p.Short, Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprint(a.Stdout, p.Text())
				return err
			}})
	}
	cmd.AddCommand(
		&cobra.Command{Use: "cli", Aliases: []string{"markdown"}, Args: cobra.NoArgs,
			Short: "Print every command, environment variable and file, in Markdown",
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprint(a.Stdout, markdown(cmd.Root()))
				return err
			}},
		&cobra.Command{Use: "man DIR", Short: "Write a manual page for each command into DIR", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := os.MkdirAll(args[0], 0o755); err != nil {
					return err
				}
				date, err := manDate(a.Env)
				if err != nil {
					return err
				}
				for _, c := range documented(cmd.Root()) {
					if err := os.WriteFile(filepath.Join(args[0], manName(c)+".1"), []byte(manPage(c, date)),
						0o644); err != nil {
						return err
					}
				}
				return nil
			}},
	)
	return cmd
}

// environment is what the commands read there.
func environment() []option {
	return slices.Concat([]option{
		{name: "APPROVALBOT_SERVER, APPROVALBOT_TOKEN", usage: "as --server and --token"},
		{name: "APPROVALBOT_CLIENT", usage: "as --client"},
		{name: "APPROVALBOT_CONFIG", usage: "as --config"},
		{name: "APPROVALBOT_CFG__SERVER__LISTEN", usage: "replaces server.listen of the configuration, " +
			"and so on for every key; and each NAME that the configuration uses as ${NAME}"},
		{name: "NODE_ENV=production", usage: "as server.production: true in the configuration"},
		{name: "AGENTSHIELD_APPROVALS_ENABLED=1", usage: "as approvals.agentshield.enabled: true in the configuration"},
	}, chatVariables(), []option{
		{name: "XDG_STATE_HOME", usage: "confine: the folder of its overlays, quarantine and private caches, in approvalbot/confine (else ~/.local/state)"},
		{name: "XDG_CONFIG_HOME, HOME", usage: "CONFIGDIR: $XDG_CONFIG_HOME/approvalbot, else ~/.config/approvalbot (macOS: ~/Library/Application Support/approvalbot, Windows: %APPDATA%\\approvalbot)"},
		{name: "USER, LOGNAME, USERNAME", usage: "serve --local: what the person at this machine is called"},
		{name: "HTTPS_PROXY, HTTP_PROXY, NO_PROXY", usage: "proxies; health and calls back to owners ignore them"},
		{name: "SSL_CERT_FILE, SSL_CERT_DIR", usage: "whose certificates are trusted, if not whom the system trusts"},
		{name: "PGPASSWORD, PGPASSFILE, …", usage: "libpq's variables: what a store.url of PostgreSQL leaves open"},
		{name: "SOURCE_DATE_EPOCH",
			usage: "docs man: the day on the pages, in seconds since 1970, if not that of the commit that was built"},
		{name: "TZ", usage: "the zone of times"},
		{name: "CLAUDE_CONFIG_DIR, CODEX_HOME, COPILOT_HOME",
			usage: "install, uninstall, doctor: the folders of Claude Code's, Codex's and Copilot CLI's files, if not in the home directory"},
		{name: "PATH", usage: "doctor, install: the folders in which the runtime's client is searched"},
		{name: "NO_COLOR, TERM=dumb", usage: "no colours"},
		{name: "LC_ALL, LC_CTYPE, LANG",
			usage: "if the first that is set names no UTF-8, output for people is ASCII"},
	})
}

// chatVariables are those by which serve --local is told a chat of each platform.
func chatVariables() (out []option) {
	for i, r := range platform.Rows {
		usage := "the same for " + r.Title + " (" + r.Variable("api_url") + ")"
		if i == 0 {
			usage = "serve --local: the chat that it writes into its configuration, also spelled " + r.Example +
				", as /whoami says it there; without them, the one of the start before (" + r.Variable("api_url") + ": another Bot API server)"
		}
		out = append(out, option{usage: usage,
			name: strings.Join([]string{r.Variable("bot_token"), r.PlaceVariable(), r.UserVariable()}, ", ")})
	}
	return out
}

// files are what the commands read of the desk and of its user.
var files = []option{
	{name: "client.yaml", usage: "a client file: server and token, and by what the desk is known: socket (its Unix socket, tried first) and deskKeys (its public keys); owner is the token's name there, and receipts for another token are refused; plainTCP: true lets an http server be asked without TLS. " +
		"It is the file that --client or APPROVALBOT_CLIENT names, else the one in CONFIGDIR, never one of the working directory. " +
		"It must be its owner's alone (chmod 600); its token goes to its desk only"},
	{name: "operator.yaml", usage: "the client file with the operator's token that serve --local (make run) writes beside client.yaml, or both as approvalbot.client.yaml and approvalbot.operator.yaml " +
		"into its own directory if CONFIGDIR has them already. It is never looked for: name it with --client. " +
		"Every user who can read it can decide"},
	{name: "approvalbot.yaml", usage: "the desk's configuration, for serve, config check, doctor, backup, keys rotate, store compact, verifier test and --offline, which also open the key file or the store that it names. " +
		"It is the file that --config or APPROVALBOT_CONFIG names, else the first found in the working directory, " +
		"in CONFIGDIR and in /etc/approvalbot"},
	{name: "approvalbot.agent.token, approvalbot.operator.token",
		usage: "fresh API tokens that init writes beside the configuration, each its owner's alone; approvalbot.client.yaml and approvalbot.operator.yaml there are client files with them, to which the desk adds its keys when it starts"},
	{name: "approvalbot.local.yaml", usage: "the configuration that serve --local (make run) writes anew at each start until it is edited; name it with --config"},
}

// about is a command's text and its usage.
func about(c *cobra.Command) (text, usage string) {
	if !completes(c) {
		return sentenced(cmp.Or(c.Long, c.Short)), c.UseLine()
	}
	var shells []string
	for _, sub := range c.Commands() {
		shells = append(shells, sub.Name())
	}
	return "Print the script with which a shell completes commands, flags and ids at Tab. " +
			"With --help it says how to load it.",
		c.CommandPath() + " " + strings.Join(shells, "|") + " [flags]"
}

// completes reports the command that the library adds for shells.
func completes(c *cobra.Command) bool { return c.Name() == "completion" && c.Parent() == c.Root() }

// everywhere lists the flags that every command takes.
func everywhere(root *cobra.Command) []option {
	return append(options(root.PersistentFlags()),
		option{name: "--help", usage: "print what the command does and its flags, and end (also -h)"})
}

// documented lists a command and those below it that have a page, in order.
func documented(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && !completes(c) {
			all = append(all, documented(sub)...)
		}
	}
	return all
}

// option is a flag as people write it, and what it does.
type option struct{ name, value, usage string }

func options(flags *pflag.FlagSet) (out []option) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		out = append(out, option{"--" + f.Name, value, usage})
	})
	return out
}

// markdown is one page with a section for each command.
func markdown(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The command line\n\n%s.\n\n%s\n\nEvery command takes:\n\n", root.Short, rootText)
	table(&b, "flag | does", everywhere(root))
	b.WriteString("\n## Environment\n\n")
	table(&b, "variable | does", environment())
	b.WriteString("\n## Files\n\n")
	table(&b, "file | is", files)
	for _, c := range documented(root)[1:] {
		text, usage := about(c)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", c.CommandPath(), prose(text))
		if c.HasSubCommands() && !completes(c) {
			continue
		}
		fmt.Fprintf(&b, "\n```\n%s\n```\n", usage)
		if c.Example != "" {
			fmt.Fprintf(&b, "\nFor example:\n\n```sh\n%s\n```\n", strings.ReplaceAll(c.Example[2:], "\n  ", "\n"))
		}
		if list := options(c.LocalNonPersistentFlags()); len(list) > 0 {
			b.WriteString("\n")
			table(&b, "flag | does", list)
		}
	}
	return b.String()
}

// rootText is what holds for all commands.
const rootText = "approvalbot COMMAND --help shows one command, approvalbot --version (or -v) prints the version,\n" +
	"approvalbot docs man DIR writes manual pages.\nA command that fails says why on standard error and ends with exit status 1, unless its help names another."

func table(b *strings.Builder, head string, list []option) {
	fmt.Fprintf(b, "| %s |\n|---|---|\n", head)
	for _, o := range list {
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.TrimSpace(o.name+" "+o.value), strings.ReplaceAll(o.usage, "|", `\|`))
	}
}

// prose is text for Markdown: its own characters are never markup, and indented
// lines are code.
func prose(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  ") {
			lines[i] = "\n      " + strings.TrimSpace(l) + "\n"
			continue
		}
		lines[i] = strings.NewReplacer("*", `\*`, "<", "&lt;").Replace(l)
	}
	return strings.Join(lines, "\n")
}

// sentenced ends a text as a sentence ends.
func sentenced(s string) string {
	if s = strings.TrimSpace(s); strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manDate is the day on manual pages, so that the same sources make the same pages:
// that of SOURCE_DATE_EPOCH, else of the commit that was built; empty if neither is
// known.
func manDate(env config.Environ) (string, error) {
	if epoch := env["SOURCE_DATE_EPOCH"]; epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", errors.New("SOURCE_DATE_EPOCH must be a whole number of seconds since 1970")
		}
		return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", nil
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" && len(s.Value) >= len(time.DateOnly) {
			return s.Value[:len(time.DateOnly)], nil
		}
	}
	return "", nil
}

// manPage is a command's manual page (man(7)) of that day.
func manPage(c *cobra.Command, date string) string {
	var b strings.Builder
	text, usage := about(c)
	if !c.HasParent() {
		text, usage = text+"\n"+rootText, c.Name()+" COMMAND [flags]"
	}
	fmt.Fprintf(&b, ".TH %q 1 %q \"approvalbot\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n.SH DESCRIPTION\n%s\n",
		strings.ToUpper(manName(c)), date, roff(manName(c)), roff(c.Short), roff(usage), roff(text))
	manList(&b, "OPTIONS", append(options(c.LocalNonPersistentFlags()), everywhere(c.Root())...))
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if !c.HasParent() {
		manList(&b, "ENVIRONMENT", environment())
		manList(&b, "FILES", files)
	}
	b.WriteString(".SH SEE ALSO\n")
	var also []string
	for _, other := range documented(c.Root()) {
		if other.Parent() == c || other == c.Parent() {
			also = append(also, roff(manName(other))+"(1)")
		}
	}
	return b.String() + strings.Join(also, ", ") + "\n"
}

func manList(b *strings.Builder, head string, list []option) {
	fmt.Fprintf(b, ".SH %s\n", head)
	for _, o := range list {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", roff(o.name), roff(o.value), roff(o.usage))
	}
}

// roff makes text plain for man: no escapes, no line that begins a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
