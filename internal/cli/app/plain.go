package app

import (
	"cmp"
	"io"
	"strings"

	"approvalbot/internal/cli/show"
)

// Plain gives stdout, for a terminal that takes no more than ASCII if the
// environment says so (LC_ALL, LC_CTYPE or LANG is set and names no UTF-8). Only
// what people read goes through it, never JSON or a command's own output.
func (a *App) Plain() io.Writer {
	locale := strings.ToLower(cmp.Or(a.Env["LC_ALL"], a.Env["LC_CTYPE"], a.Env["LANG"]))
	if locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8") {
		return a.Stdout
	}
	return show.ASCII{To: a.Stdout}
}
