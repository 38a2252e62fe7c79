package command

import (
	"net/url"
	"strings"

	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
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

// Machines gives the machines among the operands of a command: of addresses, and
// of "user@host:path". A file of the workspace with a dot is none.
func Machines(base string, operands []string) []string {
	var h Hosts
	for _, o := range operands {
		o = AfterEquals(o)
		colon, slash := strings.IndexByte(o, ':'), strings.IndexByte(o, '/')
		host := slash > 0 && o[0] != '.' && hostLike(o[:slash])
		switch {
		case strings.Contains(o, "://"):
			h.Address(o)
		case registries[base] && host:
			h.Address(o[:slash])
		case copiers[base] && colon > 0 && !strings.Contains(o[:colon], "/"):
			h.Address(o[strings.LastIndexByte(o[:colon], '@')+1 : colon])
		case fetchers[base] && hostLike(o):
			h.Address(words.CutAny(o, "/"))
		}
	}
	return h.Names
}

// hostLike reports what could begin with the name of a machine.
func hostLike(text string) bool { return text == "localhost" || strings.ContainsAny(text, ".:") }

// fetchers are the programs to which a word without a scheme is an address.
var fetchers = words.Set("curl wget")

// copiers are the programs to which "host:path" is another machine's.
var copiers = words.Set("scp rsync sftp git tar bsdtar")

// registries are the programs to which "host/name" is an image of another machine's.
var registries = words.Set("docker podman nerdctl")
