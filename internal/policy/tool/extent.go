package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Extent is what a session's yes for a call of a tool covers, beside the tool.
//
// A tool of files covers other files of the workspace; a message covers another text to the same
// people; a tool that acts covers another place of the same screen; a plain look at the web
// covers other pages of the same machine. Of each other tool a yes covers the very call.
type Extent struct {
	Each   bool             // every call is another thing: no session's yes
	Bound  string           // hash of all that has to be the same; empty: the Places and Hosts alone
	Exact  bool             // which is all that the call is told
	Said   []string         // "key=value" of what has to be the same, for people
	Places []workspace.Word // what may be a file
	Hosts  []string         // machines with their ports that a look at the web names
}

var (
	// moneyKeys are sums, and whose they are.
	moneyKeys = lazy.Words(`amount amounts price total sum cost currency quantity qty iban bic card cardnumber accountnumber invoice
		invoiceid payee payer payment paymentid paymentintent charge chargeid balance budget wallet`)
	// screenKeys say how much of a screen is meant, or which place on it.
	screenKeys = lazy.Words("limit offset page pagesize perpage cursor count ref x y coordinate coordinates timeout")
	// proseKeys are what a message says.
	proseKeys = lazy.Words(`title text body message content contents description details summary subject comment comments
		note notes explanation reason`)
	// lookKeys are all that a plain look at the web may be told.
	lookKeys = lazy.Words(`url uri query q prompt format extractmode maxchars raw timeout limit offset page count`)
	// runsKeys are commands and statements, beside codeKeys and statementKeys.
	runsKeys = lazy.Words("expression expr eval js javascript function cmdline commandline cli bash stdin cypher filter where")
)

// What a card can show of what a tool is told: more, or longer, and each call asks.
const (
	mostSaid = 6
	maxSaid  = 80 // bytes
)

// Extent reads the members of a call that runs no command by what they may name.
func (x *Reading) Extent() (e Extent) {
	list, ok := x.Fields()
	kind := x.Tool.Kind
	e.Each = !ok || kind == Payer || x.Found.Has(finding.KeywordPay) || kind == Actor && x.Found.Any(finding.Of(finding.OtherHost, finding.FeedsProcess))
	secret := x.Found.Any(finding.Of(finding.ReadsSecret, finding.MayReadSecret))
	others := secret && kind != Reader // which may be any of the workspace's files
	if kind.Group() == "fs" && kind != Deleter && !others {
		e.files(list)
		return e
	}
	free := x.free(list)
	for i := range list {
		f := &list[i]
		if f.absent() {
			continue
		}
		runs := codeKeys.Has(f.Key) || statementKeys.Has(f.Key) || runsKeys.Has(f.Key)
		names := f.Str && namesFile(f)
		if names {
			e.Places = append(e.Places, workspace.PathWord(f.Text))
		}
		ofEach := kind == Other && (names || moneyKeys.Has(f.Key) || runs)
		e.Each = e.Each || ofEach || f.Key == "subject" && strings.ContainsAny(f.Text, "\r\n")
		switch host, address := f.host(); {
		case free == nil, f.top && free.Has(f.Key) && !address:
		case kind == Web:
			e.Hosts = append(e.Hosts, host) // of a look every address is a plain one
		default:
			e.say(f)
		}
	}
	e.Exact = free == nil
	long := func(said string) bool { return len(said) > maxSaid }
	e.Each = e.Each || len(e.Said) > mostSaid || slices.ContainsFunc(e.Said, long)
	if look := kind == Web && !e.Exact; !look && !e.Each {
		e.Bound, ok = bound(x.Call.Params, free)
		e.Each = !ok
	}
	return e
}

// files reads the members of a call of a tool of files.
func (e *Extent) files(list []field) {
	for i := range list {
		f := &list[i]
		place := placeKeys.Has(f.Key) || outKeys.Has(f.Key) || globKeys.Has(f.Key)
		switch {
		case f.absent():
		case deedKeys.Has(f.Key), strings.HasSuffix(f.Key, "method"), f.Key == "command":
			e.say(f)
		case f.Str && place:
			e.Places = append(e.Places, workspace.PathWord(f.Text))
		}
	}
}

// free gives the members of params that may be others another time, if they are no lists and no
// objects; nil if there are no such members.
func (x *Reading) free(list []field) *lazy.Set {
	switch kind := x.Tool.Kind; {
	case kind == Messenger && x.Tool.Name != "sessionssend": // another agent does what it is told
		return proseKeys
	case kind == Actor:
		return screenKeys
	case kind == Web && !x.Found.Any(moreThanALook) && allLook(list):
		return lookKeys
	}
	return nil
}

func allLook(list []field) bool {
	return !slices.ContainsFunc(list, func(f field) bool { return !f.isLook() })
}

var moreThanALook = finding.Of(finding.MetadataService, finding.ControlPlane, finding.PrivateAddress, finding.SendsData,
	finding.OddAddress, finding.UnknownParameters, finding.MalformedCall)

// isLook reports a member of a plain look at the web.
func (f *field) isLook() bool {
	host, address := f.host()
	names := address || f.Key == "url" || f.Key == "uri"
	return f.top && lookKeys.Has(f.Key) && (host != "" || !names)
}

// host gives the machine, with its port, of a text that is an address, or has one in it: then
// it is empty if that address is no plain one of the web.
func (f *field) host() (host string, address bool) {
	if !f.Str || !strings.Contains(f.Text, "://") {
		return "", false
	}
	u, err := url.Parse(f.Text)
	if err != nil || u.User != nil || !words.Any(u.Scheme, "http", "https") {
		return "", true
	}
	return strings.ToLower(u.Host), true
}

// Changes reports a tool that changes files that its call names, other than by deleting them.
func (t Tool) Changes() bool { return t.Kind == Writer || t.Kind == Editor || t.Kind == Patcher }

// Whole is the Extent of exactly this call.
func (x *Reading) Whole() (e Extent) {
	hash, ok := bound(x.Call.Params, nil)
	return Extent{Each: !ok, Exact: true, Bound: hash}
}

// bound is a hash of params without the members that are free; false if they cannot be read.
func bound(params []byte, free *lazy.Set) (string, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(params))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return "", false
	}
	kept := jsontext.Value("{")
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return "", false
		}
		folded, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return "", false
		}
		key, _ := foldKey(string(folded))
		name = append(jsontext.Value{}, name...) // the decoder reuses its own
		value, err := d.ReadValue()
		if err != nil {
			return "", false
		}
		if kind := value.Kind(); free.Has(key) && kind != '{' && kind != '[' {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, name...), ':'), value...)
	}
	kept = append(kept, '}')
	if _, err := d.ReadToken(); err != nil {
		return "", false
	}
	if _, err := d.ReadToken(); err != io.EOF || kept.Canonicalize() != nil {
		return "", false
	}
	sum := sha256.Sum256(kept)
	return hex.EncodeToString(sum[:16]), true
}

// say notes a member, by its own name and that of the param in which it is.
func (e *Extent) say(f *field) {
	name := f.Key
	if f.root != "" && f.root != f.Key {
		name = f.root + "." + f.Key
	}
	e.Said = append(e.Said, name+"="+f.Text)
}

// namesFile reports text that an unknown tool may take for a file: by the member's name, by
// a slash, or because a secret or a start-up file has that name.
func namesFile(f *field) bool {
	if strings.Contains(f.Text, "://") && !strings.HasPrefix(strings.ToLower(f.Text), "file:") {
		return false // a host, which is bound as one
	}
	lower := workspace.FoldPath(f.Text)
	return placeKeys.Has(f.Key) || outKeys.Has(f.Key) || strings.ContainsAny(f.Text, `/\~`) || strings.HasPrefix(f.Text, ".") ||
		workspace.Apart(lower)
}
