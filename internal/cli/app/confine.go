package app

import (
	"cmp"
	"fmt"
	"path/filepath"
)

// ConfineState is the folder in which overlays, quarantine and private caches of confined calls are.
func (a *App) ConfineState() (string, error) {
	state := cmp.Or(a.Env["XDG_STATE_HOME"], filepath.Join(a.Env["HOME"], ".local", "state"))
	if !filepath.IsAbs(state) {
		return "", fmt.Errorf("the state of confined calls has no folder: HOME is %q and XDG_STATE_HOME %q; set one to an absolute path",
			a.Env["HOME"], a.Env["XDG_STATE_HOME"])
	}
	return filepath.Join(state, "approvalbot", "confine"), nil
}
