package workspace

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"approvalbot/internal/display"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
)

// Address judges one URL that is read.
func (r *Reader) Address(s string) {
	if r.Noted == nil {
		r.address(s)
		return
	}
	r.Note(s, func() { r.address(s) })
}

func (r *Reader) address(s string) {
	s = strings.TrimSpace(s)
	if Loopback(s) {
		r.Found.Add(finding.LoopbackRead)
	} else {
		r.Found.Add(finding.NetworkRead)
	}
	if len(s) > 5 && strings.EqualFold(s[:5], "file:") && !strings.HasPrefix(s[5:], "//") {
		r.Found.Add(finding.OddAddress)
		r.Read(PathWord(s[5:]))
		return
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || strings.ContainsAny(s, "\\{}[]<>^`|\t\n\r") && !strings.Contains(s, "//[") {
		r.Found.Add(finding.OddAddress)
		r.deskAddress(s)
		return
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
	case "file":
		r.Read(PathWord(u.Path))
		return
	default:
		r.Found.Add(finding.SendsData)
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch {
	case metadata(host, u):
		r.Found.Add(finding.MetadataService)
	case controls(u):
		r.Found.Add(finding.ControlPlane)
	case privateHost(host):
		r.Found.Add(finding.PrivateAddress)
	case oddHost(host):
		r.Found.Add(finding.OddAddress)
	}
	if carries(u) {
		r.Found.Add(finding.SendsData)
	}
	r.deskAddress(s)
}

// What an address may hold before it is taken to carry data out: a commit's hash is
// 40 characters, a UUID 36, a search a few words.
const (
	maxOpaque = 48  // characters of one piece
	maxMade   = 100 // of all pieces that look made by a machine: two commits' hashes fit
	maxHost   = 120 // bytes of the host's name
	maxPath   = 512 // of the path
	MaxQuery  = 300 // of the query, or of the words that a tool passes on
)

// carries reports an address that hands data to the host that answers it: in the query, the
// path or the names of the host, as long text that has no meaning to a reader, or as a
// known form of secret.
func carries(u *url.URL) bool {
	host := u.Hostname()
	if u.User != nil || len(host) > maxHost || len(u.Path) > maxPath {
		return true
	}
	query, err := url.QueryUnescape(u.RawQuery)
	if err != nil || len(u.RawQuery) > MaxQuery {
		return true
	}
	secret := slices.ContainsFunc([]string{u.RawQuery, query, host, u.Path}, hidesSecret)
	return secret || opaque(host) > maxOpaque || opaque(host+"/"+u.Path+"/"+query) > maxMade
}

// Carries reports text that hands data to its receiver, as [Reader.Address] does for an
// address.
func Carries(text string) bool {
	return len(text) > MaxQuery || hidesSecret(text) || opaque(text) > maxMade
}

func hidesSecret(text string) bool { return text != "" && display.Redact(text) != text }

// opaque counts the characters of the pieces that look made by a machine: long ones,
// and those of eight and more with a digit. A piece that is too long by itself counts
// as too many.
func opaque(text string) (all int) {
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("/.-_&=,:;+% ", r) }) {
		switch {
		case len(piece) > maxOpaque || len(piece) > minEncoded && encoded(piece):
			return len(text) + maxMade
		case len(piece) >= 8 && strings.ContainsAny(piece, "0123456789"):
			all += len(piece)
		}
	}
	return all
}

// minEncoded is the least number of bytes of encoded text. Shorter text could be an id: if this
// many bytes are random, they are all printable only once in a hundred thousand.
const minEncoded = 12

// encoded reports text that is other text in base64 or hexadecimal.
func encoded(piece string) bool {
	for _, decode := range [...]func(string) ([]byte, error){base64.RawStdEncoding.DecodeString, hex.DecodeString} {
		text, err := decode(piece)
		if err == nil && len(text) >= minEncoded && !bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			return true
		}
	}
	return false
}

// Loopback reports an address of this machine, written in a plain way.
func Loopback(s string) bool {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.User != nil || !words.Any(u.Scheme, "http", "https") {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// deskAddress notes an address of the desk.
func (r *Reader) deskAddress(s string) {
	s = strings.ToLower(s)
	if r.Own.address(s) {
		r.Found.Add(finding.TouchesDesk)
	}
}

// AddressesIn judges the URLs in free text.
func (r *Reader) AddressesIn(text string) {
	for w := range strings.FieldsSeq(text) {
		if strings.Contains(w, "://") {
			r.Address(strings.Trim(w, `"'<>(),;`))
		}
	}
	r.deskAddress(text)
}

// privateHost reports an address of a private network. The machine itself does not count:
// agents look at the servers they start.
func privateHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || sharedSpace.Contains(a)
	}
	if host != "localhost" && nearName(host) {
		return true
	}
	for _, end := range [...]string{".internal", ".local", ".lan", ".intranet", ".corp", ".home.arpa", ".home",
		".private", ".localdomain", ".svc"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	if spellsPrivate(host) {
		return true
	}
	for _, name := range wildcardNames {
		if host == name || strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}

// nearName reports a name without a dot: it is looked up in the network at hand.
func nearName(host string) bool { return words.At(host, 0) >= 'a' && !strings.ContainsAny(host, ".:%") }

// wildcardNames are public domains that resolve each name below them to the address written
// in that name, or to the machine's own: 10.0.0.1.nip.io, app.localtest.me. Some answer
// with another address each time.
var wildcardNames = []string{"nip.io", "sslip.io", "xip.io", "xip.name", "ipq.co", "traefik.me", "localtest.me", "lvh.me",
	"vcap.me", "lacolhost.com", "backname.io", "local-ip.co", "local-ip.sh", "localhost.direct",
	"lcl.host", "local.gd", "localdev.me", "localho.st", "lndo.site", "ddev.site", "docksal.site",
	"fuf.me", "ulh.us", "smackaho.st", "plex.direct", "1u.ms", "rbndr.us", "rebind.it"}

// spellsPrivate reports a name that contains a private address, with dots or hyphens:
// services that answer with it are many.
func spellsPrivate(host string) bool {
	parts := strings.FieldsFunc(host, func(r rune) bool { return r == '.' || r == '-' })
	for i := 0; i+4 <= len(parts); i++ {
		a, err := netip.ParseAddr(strings.Join(parts[i:i+4], "."))
		if err == nil && slices.ContainsFunc(nonPublic, func(is func(netip.Addr) bool) bool { return is(a) }) {
			return true
		}
	}
	return false
}

// nonPublic are the sorts of addresses that no host on the internet has.
var nonPublic = []func(netip.Addr) bool{netip.Addr.IsPrivate, netip.Addr.IsLoopback, netip.Addr.IsLinkLocalUnicast,
	netip.Addr.IsUnspecified, sharedSpace.Contains}

// sharedSpace is the address range of carriers, used by some clouds inside.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// wrapped4 are ranges of IPv6 in which an address of IPv4 is wrapped.
var wrapped4 = []netip.Prefix{netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32")}

// oddHost reports an address in a form that hides what it is, such as
// 0x7f.1 or 2130706433, and link-local addresses.
func oddHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		here := a.IsLoopback() || a.IsUnspecified()
		wrapped := a.Is4In6() || !here && slices.ContainsFunc(wrapped4, func(p netip.Prefix) bool { return p.Contains(a) })
		return wrapped || a.IsLinkLocalUnicast() || a.IsMulticast()
	}
	if host == "" || strings.ContainsAny(host, "%:") {
		return true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return true
	}
	for i := range len(host) {
		if host[i] >= 0x80 {
			return true
		}
	}
	return false
}
