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
		Long: "Run a command that can change only its workspace. It has no network, sees no other process, has an empty home, and\n" +
			"can read the system's programs and the workspace. Secrets of the workspace are hidden. The changes are copied to the\n" +
			"workspace when the command has ended. They are all refused if the command changed a file that an agent may not change\n" +
			"without asking (settings of git, agents, editors and CI, secrets, …), or a file that somebody else changed during the\n" +
			"call. No desk is asked. It needs Linux and bubblewrap, and never runs as root; doctor says what is missing.\n\n" +
			"Exit status: the command's own; 124 if its changes were refused; 125 if it could not be confined and did not run.\n\n" +
			"This is experimental: policy and hooks use it only if the operator says so. docs/confine.md says what it protects,\n" +
			"what it does not, and what test attackers found.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, argv []string) error {
			return ended(f.Run(cmd.Context(), streams(a), a.Environ, argv))
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringArrayVar(&f.Workspaces, "workspace", nil, "folder that the command may change; may be given several times (else the working directory)")
	cmd.Flags().StringArrayVar(&f.Show, "show", nil, "one more folder that it may read, such as ~/go/pkg/mod; may be given several times. Secrets in it are not hidden")
	cmd.Flags().BoolVar(&f.MayRemove, "may-remove", false, "keep the command's work also if it removed or emptied files that git does not have")
	cmd.Flags().StringArrayVar(&f.Readable, "readable", nil, "name of files of the workspace that are not hidden as secrets; may be given several times")
	cmd.Flags().StringVar(&f.Asked, "asked", "", "for the commands that a hook replaces: the call for which the desk was asked, which asks people if it comes again after it failed")
	return cmd
}

// newBesideCommand is for the shell of a command that a hook allowed as it is, see [answer.Beside].
func newBesideCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "beside CALL DESCRIPTOR", Short: "Wait until a command may run beside others; for the hook of Claude Code", Hidden: true,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, argv []string) error {
			return ended(answer.Beside(cmd.Context(), streams(a), argv))
		},
	}
}
