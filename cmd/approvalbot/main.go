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

	"approvalbot/config"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out one command line and gives the process's exit status. Nothing
// in it reads the process's own arguments, environment or standard streams.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{args: args, environ: env, env: config.NewEnviron(env), stdin: stdin, stdout: stdout, stderr: stderr}
	root := newRootCommand(a)
	root.SetArgs(append([]string{}, args...))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	a.plainly(root)
	err := root.ExecuteContext(ctx)
	if words := a.misspeltHook(); err != nil && words != nil {
		err = a.answer(hookDeny(words, "approvalbot: "+a.failure(err)))
	}
	return a.exit(err)
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "approvalbot",
		Short:         "The approval desk between AI agents and people",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	f := root.PersistentFlags()
	f.StringVar(&a.server, "server", "", "the desk's URL (else APPROVALBOT_SERVER, else the client file)")
	f.StringVar(&a.token, "token", "", "API token (else APPROVALBOT_TOKEN, else the client file)")
	f.StringVar(&a.clientFile, "client", "", "client file, with the desk's URL and a token (else APPROVALBOT_CLIENT, else client.yaml in the user's configuration directory)")
	f.BoolVar(&a.json, "json", false, "print the API's JSON")
	f.StringVar(&a.config, "config", "", "configuration file of the desk (else APPROVALBOT_CONFIG, else approvalbot.yaml)")
	root.AddCommand(
		newServeCommand(a),
		newRequestCommand(a), newWaitCommand(a), newRunCommand(a), newWithdrawCommand(a),
		newMCPCommand(a), newMCPProxyCommand(a), newACPCommand(a),
		newPendingCommand(a), newListCommand(a), newViewCommand(a), newApproveCommand(a), newDenyCommand(a), newDecideCommand(a), newRevokeCommand(a), newRetryCommand(a), newWatchCommand(a),
		newAllowlistCommand(a), newSessionsCommand(a), newEvaluateCommand(a), newPolicyCommand(a), newVerifierCommand(a), newCallbacksCommand(a),
		newAuditCommand(a), newReceiptCommand(a), newBackupCommand(a), newKeysCommand(a), newStoreCommand(a),
		newInstallCommand(a), newUninstallCommand(a),
		newInitCommand(a), newConfigCommand(a), newDoctorCommand(a), newDrillCommand(a), newPairCommand(a), newHookCommand(a), newStatsCommand(a), newHealthCommand(a), newDocsCommand(a),
	)
	return grouped(a.complete(root))
}
