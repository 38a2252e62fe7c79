package install

import _ "embed"

// openCodePlugin is the plugin for OpenCode; "JSCLIENT" in it is the client file.
//
//go:embed opencode.js
var openCodePlugin string
