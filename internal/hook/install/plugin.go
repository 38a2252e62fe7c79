package install

import _ "embed"

// openCodePlugin is the plugin for OpenCode; "JSPROGRAM" and "JSCLIENT" in it are the two paths.
//
//go:embed opencode.js
var openCodePlugin string
