package install

import _ "embed"

// openCodePlugin is the plugin for OpenCode; "JSPROGRAM" and "JSCLIENT" in it are the two paths,
// "JSHOOK" the word hook if the program takes it.
//
//go:embed opencode.js
var openCodePlugin string
