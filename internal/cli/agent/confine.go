package agent

import (
	"github.com/spf13/cobra"

	"approvalbot/internal/cli/answer"
	"approvalbot/internal/cli/app"
)

func newConfineCommand(a *app.App) *cobra.Command {
	var f answer.Confining
	cmd := &cobra.Command{
		Use:   "confine [flags] -- CMD [ARG...]",
		Short: "Run a command that can change only its workspace; asks no desk",
		Long: "This is experimental: policy and hooks use it only if the operator says so, and docs/confine.md lists what adversaries got out of it.\n" +
			"Run a command that can change only its workspace: it has no network, sees no other process, has an empty home, and of the\n" +
			"machine its programs alone (Linux, bubblewrap; never as root). Secrets of the workspace are hidden. It works on an overlay: the\n" +
			"workspace changes when the command has ended, and not at all if the command changed what an agent may not change without\n" +
			"asking (hooks and settings of git, of agents, of editors and of CI, secrets, …) or what somebody else changed meanwhile. No desk is asked. Exit status: the\n" +
			"command's own, or 124 if what it did was refused, 125 if it could not be confined, and so did not run.\n" +
			"doctor says what this machine lacks. docs/confine.md says what is held, and what is not.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, argv []string) error {
			return ended(f.Run(cmd.Context(), streams(a), a.Environ, argv))
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringArrayVar(&f.Workspaces, "workspace", nil, "folder that the command may change; may be given several times (else the working directory)")
	cmd.Flags().StringArrayVar(&f.Show, "show", nil, "one more folder that it may read, such as ~/go/pkg/mod; may be given several times. Secrets in it are not hidden")
	cmd.Flags().StringArrayVar(&f.Readable, "readable", nil, "name of files of the workspace that are not hidden as secrets; may be given several times")
	cmd.Flags().BoolVar(&f.Asked, "asked", false, "for the commands that a hook replaces: the desk was asked, and asks people if the command comes again after it failed")
	return cmd
}
