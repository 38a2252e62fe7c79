package command

import (
	"net/url"
	"strings"

	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Hosts are the names of machines that a call names.
type Hosts struct {
	Names []string
	Odd   bool // some address cannot be read
}

// Word takes every word of a command for a host that could be one.
func (h *Hosts) Word(w workspace.Word) {
	text := AfterEquals(w.Text)
	at := strings.LastIndexByte(text, '@')
	switch {
	case w.Kind != workspace.Literal:
		h.Odd = true
	case strings.Contains(text, "://"):
		h.Address(text)
	case at > 0:
		h.Address(words.CutAny(text[at+1:], ":/"))
	case strings.IndexByte(text, '.') > 0 && text[0] != '-' && text[0] != '/':
		h.Address(words.CutAny(text, ":/"))
	}
}

// Address takes text for an address, or for what one begins with.
func (h *Hosts) Address(s string) {
	if !strings.Contains(s, "://") {
		s = "//" + s
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Hostname() == "" {
		h.Odd = true
		return
	}
	h.Names = append(h.Names, strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")))
}
