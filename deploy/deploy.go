// Package deploy holds the files by which service managers run the desk.
package deploy

import (
	_ "embed"
	"strings"
)

//go:embed approvalbot.service
var unit string

//go:embed approvalbot.plist
var plist string

// The paths of the program and the configuration as the embedded files have them.
const (
	program       = "/usr/local/bin/approvalbot"
	configuration = "/etc/approvalbot/approvalbot.yaml"
)

// Services are the service managers that there is a file for.
func Services() []string { return []string{"systemd", "launchd"} }

// Service is the file for a service manager, for a program and a configuration whose
// paths are absolute and need no quoting; known reports whether there is one.
func Service(manager, programPath, configPath string) (text string, known bool) {
	switch manager {
	case "systemd":
		text = unit
	case "launchd":
		text = plist
	default:
		return "", false
	}
	return strings.NewReplacer(program, programPath, configuration, configPath).Replace(text), true
}
