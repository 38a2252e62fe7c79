package main

import (
	"errors"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/config/local"
	"approvalbot/internal/daemon"
)

// newServeCommand is the bot process.
func newServeCommand(a *app.App) *cobra.Command {
	var localDir string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the desk",
		Long: "Run the desk until it is told to stop. Approvals that are pending stay pending: the next start goes on with them.\n" +
			"With --local DIR it writes what it needs into DIR first: tokens and client files, if they are not there, and a\n" +
			"configuration, anew at every start until that is edited.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := a.Config
			if localDir != "" {
				if path != "" {
					return errors.New("--local writes its own configuration; leave out --config")
				}
				var err error
				if path, err = local.Prepare(localDir, a.Env); err != nil {
					return err
				}
			}
			return daemon.Serve(cmd.Context(), daemon.Start{
				Config: path, Environ: a.Environ, Local: localDir != "", Version: a.Version, Stdout: a.Stdout, Stderr: a.Stderr,
			})
		},
	}
	cmd.Flags().StringVar(&localDir, "local", "", "directory for a generated configuration")
	return cmd
}
