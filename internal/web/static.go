package web

import "embed"

// static are files that every browser may have: scripts, styles, icons.
//
//go:embed static
var static embed.FS
