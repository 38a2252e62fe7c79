package agent

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/confine"
)

func newConfineCommand(a *app.App) *cobra.Command {
	var workspaces, show []string
	cmd := &cobra.Command{
		Use:   "confine [flags] -- CMD [ARG...]",
		Short: "Run a command that can change only its workspace; asks no desk",
		Long: "This is experimental: no hook uses it, policy only if the operator says so, and docs/confine.md lists what adversaries got out of it.\n" +
			"Run a command that can change only its workspace: it has no network, sees no other process, has an empty home, and of the\n" +
			"machine its programs alone (Linux, bubblewrap; never as root). Secrets of the workspace are hidden. It works on an overlay: the\n" +
			"workspace changes when the command has ended, and not at all if the command changed what others obey (hooks and settings of\n" +
			"git, of agents, of editors and of CI, .envrc, …) or what somebody else changed meanwhile. No desk is asked. Exit status: the\n" +
			"command's own, or 124 if what it did was refused, 125 if it could not be confined, and so did not run.\n" +
			"doctor says what this machine lacks. docs/confine.md says what is held, and what is not.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, argv []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return confined(a, confine.NotConfined, err)
			}
			if len(workspaces) == 0 {
				workspaces = []string{dir}
			}
			state, err := a.ConfineState()
			if err != nil {
				return confined(a, confine.NotConfined, err)
			}
			status, _, err := confine.Run(cmd.Context(), confine.Call{State: state, Workspaces: workspaces, Show: show, Dir: dir,
				Argv: argv, Env: a.Environ, Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr})
			return confined(a, status, err)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringArrayVar(&workspaces, "workspace", nil, "folder that the command may change; may be given several times (else the working directory)")
	cmd.Flags().StringArrayVar(&show, "show", nil, "one more folder that it may read, such as ~/go/pkg/mod; may be given several times. Secrets in it are not hidden")
	return cmd
}

// confined prints the error, and gives the exit status.
func confined(a *app.App, status int, err error) error {
	switch {
	case err != nil && status == confine.NotConfined:
		fmt.Fprintf(a.Stderr, "approvalbot: not run, since it could not be confined: %s\n", app.Sentence(err))
	case err != nil:
		fmt.Fprintf(a.Stderr, "approvalbot: %s\n", app.Sentence(err))
	}
	if status == 0 {
		return nil
	}
	return app.ExitCode(status)
}
