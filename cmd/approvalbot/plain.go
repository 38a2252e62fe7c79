package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// plain gives stdout, for a terminal that takes no more than ASCII if the
// environment says so (LC_ALL, LC_CTYPE or LANG is set and names no UTF-8). Only
// what people read goes through it, never JSON or a command's own output.
func (a *app) plain() io.Writer {
	locale := strings.ToLower(cmp.Or(a.env["LC_ALL"], a.env["LC_CTYPE"], a.env["LANG"]))
	if locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8") {
		return a.stdout
	}
	return asciiWriter{a.stdout}
}

// asciiWriter writes ASCII alone: our own signs as their like, every other
// character visibly as \u{HEX}. Each Write must hold whole characters.
type asciiWriter struct{ w io.Writer }

var likes = strings.NewReplacer("—", "-", "·", "-", "…", "...", "⚠", "!", "\u00a0", " ")

// Write implements io.Writer.
func (p asciiWriter) Write(b []byte) (int, error) {
	var out strings.Builder
	for _, r := range likes.Replace(string(b)) {
		if r < 0x80 {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u{%X}`, r)
		}
	}
	_, err := io.WriteString(p.w, out.String())
	return len(b), err
}
