package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"approvalbot/deploy"
	"approvalbot/internal/cli/app"
)

// printService prints the file by which a service manager runs the desk; its first lines
// say into which directory it belongs. It is never written: a package or an administrator
// does that.
func printService(a *app.App, manager string, at attaching) error {
	if !at.print || at.managed || at.user || at.project || at.beside || at.trust {
		return fmt.Errorf("install %s only prints the file, with --print; the deb and rpm packages install it", manager)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	configuration := "/etc/approvalbot/approvalbot.yaml"
	if a.Config != "" {
		if configuration, err = filepath.Abs(a.Config); err != nil {
			return err
		}
	}
	for _, path := range []string{program, configuration} {
		if strings.ContainsAny(path, " \t\n\"'\\$%&<>") {
			return errors.New(path + " has characters that a service manager reads " +
				"differently: move it, or edit the file by hand")
		}
	}
	text, _ := deploy.Service(manager, program, configuration)
	_, err = fmt.Fprint(a.Stdout, text)
	return err
}

func isService(name string) bool { return slices.Contains(deploy.Services(), name) }
