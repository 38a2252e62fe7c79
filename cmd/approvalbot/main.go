// Command approvalbot is the approval desk between AI agents (or any script) and
// people: serve runs it, the other verbs ask, list, decide and check.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli"
	"approvalbot/internal/cli/agent"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/help"
	"approvalbot/internal/cli/offline"
	"approvalbot/internal/cli/setup"
	"approvalbot/internal/cli/watch"
	"approvalbot/internal/config"
	"approvalbot/internal/confine"
	"approvalbot/internal/policy/finding"
	programs "approvalbot/internal/policy/program"
	"approvalbot/internal/server"
)

// version is set by the linker.
var version = "dev"

func main() {
	if confine.Overlaying(os.Args) {
		os.Exit(confine.Overlay(os.Args))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out one command line and gives the process's exit status. It does not read
// the process's own arguments, environment or standard streams.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app.App{Version: version, OpenStore: offline.Client, Args: args, Environ: env, Env: config.NewEnviron(env),
		Stdin: stdin, Stdout: stdout, Stderr: stderr}
	root := newRootCommand(a)
	root.SetArgs(append([]string{}, args...))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	help.Plainly(a, root)
	return a.Exit(agent.Answered(a, root.ExecuteContext(ctx)))
}

// references are the pages of reference beside that of the commands.
func references() []help.Page {
	return []help.Page{
		{Name: "routes", Short: "Print each route and type of the HTTP API, in Markdown", Text: server.Reference},
		{Name: "reasons", Short: "Print each reason code with its class and sentence, in Markdown", Text: finding.Describe},
		{Name: "programs", Short: "Print what is known of each program, in Markdown", Text: programs.Describe},
	}
}

func newRootCommand(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:           "approvalbot",
		Short:         "The approval desk between AI agents and people",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	f := root.PersistentFlags()
	f.StringVar(&a.Server, "server", "", "the desk's URL (else APPROVALBOT_SERVER, else the client file)")
	f.StringVar(&a.Token, "token", "", "API token (else APPROVALBOT_TOKEN, else the client file)")
	f.StringVar(&a.ClientFile, "client", "", "client file, with the desk's URL and a token (else APPROVALBOT_CLIENT, else client.yaml in the user's configuration directory)")
	f.BoolVar(&a.JSON, "json", false, "print the API's JSON, as -o json")
	f.VarP(a.Formats(), "output", "o", "print json, yaml, or the name of each thing on a line (a code, if it has one)")
	f.StringVar(&a.Config, "config", "", "configuration file of the desk (else APPROVALBOT_CONFIG, else approvalbot.yaml)")
	root.AddCommand(newServeCommand(a), watch.Command(a), help.DocsCommand(a, references()...), help.VersionCommand(a))
	root.AddCommand(agent.Commands(a)...)
	root.AddCommand(setup.Commands(a)...)
	made := func() []*cobra.Command { return append(cli.Commands(a), offline.Commands(a)...) }
	root.AddCommand(made()...)
	help.Admin(root, made, cli.AdminStats(a))
	return help.Group(help.Complete(a, root))
}
