// Package setup is the verbs about this machine: a first configuration, hooks in agents'
// runtimes, and whether all of it works.
package setup

import (
	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
)

// Commands are the verbs about this machine: what is set up on it, and whether it works.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newInitCommand(a), newInstallCommand(a), newUninstallCommand(a), newDoctorCommand(a)}
}
