package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"approvalbot/api"
	"approvalbot/internal/config"
	"approvalbot/internal/display"
	"approvalbot/proof"
)

// DeskCheck is what a client file's desk says of its keys.
type DeskCheck struct {
	Keys []config.DeskKey // the desk's, as it publishes them
	Old  bool             // the file has older ones, which lead to these
	How  string           // how it is known that they are the desk's; empty: they are the first answer
}

// ErrOtherKeys is in the error of a client file whose keys do not lead to what answers.
var ErrOtherKeys = errors.New("its keys are not those of deskKeys, and did not follow them")

// CheckDesk asks a client file's desk for its keys, without the token, and says how far
// they can be believed: by the socket or the file's keys, by the certificate of an https
// server, else, on loopback and if the file names no socket, as the first answer. anew leaves
// out what the file's keys say.
func CheckDesk(ctx context.Context, file config.ClientFile, path string, anew bool) (DeskCheck, error) {
	if anew {
		file.DeskKeys = nil
	}
	d, err := newDesk(file, path, nil)
	if err != nil {
		return DeskCheck{}, err
	}
	told, leaf, how, err := d.ask(ctx)
	if err != nil {
		return DeskCheck{}, err
	}
	var keys []proof.DeskKey
	out := DeskCheck{How: how}
	for _, k := range told.DeskKeys {
		keys, out.Keys = append(keys, proof.DeskKey(k)), append(out.Keys, config.DeskKey(k))
	}
	pins, err := proof.Pins(keys)
	if err != nil {
		return DeskCheck{}, fmt.Errorf("what answers at %s is %w as the desk: %w", d.server.Host,
			api.ErrNotBelieved, err)
	}
	known := slices.ContainsFunc(pins, func(pin ed25519.PublicKey) bool { return bytes.Equal(pin, leaf) })
	if leaf != nil && !known {
		return DeskCheck{}, fmt.Errorf("what answers at %s is %w as the desk: it has not the keys that it names",
			d.server.Host, api.ErrNotBelieved)
	}
	if len(d.keys) == 0 {
		return out, nil
	}
	next, err := proof.Follow(d.keys, told.Successions)
	switch {
	case err != nil || !sameKeys(next, keys):
		return DeskCheck{}, fmt.Errorf("what answers at %s is %w as the desk of %s: %w", d.server.Host,
			api.ErrNotBelieved, path, ErrOtherKeys)
	case !sameKeys(next, d.keys):
		out.Old = true
	}
	out.How = "by the keys in the file"
	return out, nil
}

// ask gives what answers says of its keys, the key that it has shown by TLS (nil: none),
// and how it is known; empty: not at all.
func (d *desk) ask(ctx context.Context) (told api.DeskKeys, leaf []byte, how string, err error) {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if d.server.Scheme == "http" && d.file.PlainTCP {
			return d.base.DialContext(ctx, network, addr)
		}
		return d.dialTLS(ctx, network, addr, func(s tls.ConnectionState) error {
			if d.server.Scheme == "http" { // a https server may have another certificate than the desk's own
				leaf = append([]byte{}, keyOf(s.PeerCertificates[0])...)
			}
			return nil
		})
	}
	certified, first := d.ordinary(), len(d.keys) == 0
	switch conn, missing := DialSocket(ctx, d.file.Socket); {
	case missing == nil:
		_ = conn.Close()
		how, certified = "by its socket "+d.file.Socket, false
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return DialSocket(ctx, d.file.Socket) }
	case first && d.file.Socket != "":
		return told, nil, "", fmt.Errorf("%w; %s names that socket, so what answers at %s instead is not trusted: "+
			"start the desk, or correct socket there", missing, d.path, d.server.Host)
	case first && d.server.Scheme == "https":
		certified = true
	case first && !config.Loopback(d.server.Hostname()):
		return told, nil, "", fmt.Errorf("%s is another machine without a certificate, so its first answer is not trusted: "+
			"let server in %s be an https URL, or copy deskKeys from a client file of the desk's machine", d.server.Host, d.path)
	}
	t := d.base.Clone()
	if certified {
		how = "by the certificate of " + d.server.Hostname()
	} else {
		t.Proxy, t.DialContext, t.DialTLSContext = nil, dial, dial
	}
	defer t.CloseIdleConnections()
	told, err = (&api.Client{Server: d.server.String(), HTTP: httpClient(t)}).DeskKeys(ctx)
	return told, leaf, how, err
}

// TrustDesk writes the keys of the client file's desk into that file and says on a line
// what was done. Without replace, a file that has keys is given only keys that follow them.
func (a *App) TrustDesk(ctx context.Context, replace bool) (string, error) {
	path, _ := a.ClientPath()
	if path == "" {
		return "", errors.New("there is no client file: name one with --client")
	}
	file, err := config.OpenToRenew(path, os.Geteuid() == 0) // root renews any user's
	if err != nil {
		return "", err
	}
	defer file.Close()
	return RenewKeys(ctx, file, replace, replace)
}

// TrustFirst writes the desk's keys into a client file of 0.1.0 that a verb is about to
// use, and says so on a line; empty: there is no such file, or no desk that has keys.
func (a *App) TrustFirst(ctx context.Context) string {
	explicit := a.ClientFile == "" && cmp.Or(a.Env["APPROVALBOT_SERVER"], a.Env["APPROVALBOT_TOKEN"]) != ""
	if explicit || a.Server != "" || a.Token != "" {
		return ""
	}
	path, _ := a.ClientPath()
	if path == "" {
		return ""
	}
	file, err := config.OpenToRenew(path, false)
	if err != nil {
		return ""
	}
	defer file.Close()
	if file.KnowsDesk() || file.PlainTCP {
		return ""
	}
	said, err := RenewKeys(ctx, file, false, true)
	if err != nil {
		return ""
	}
	return said
}

// RenewKeys is [App.TrustDesk] for an open client file, whose socket its caller may have set. The desk's
// name for the token is written, too, if the desk is known, or the caller uses the token there anyway.
func RenewKeys(ctx context.Context, file *config.Renewal, replace, uses bool) (string, error) {
	got, err := CheckDesk(ctx, file.ClientFile, file.Path, replace)
	if errors.Is(err, ErrOtherKeys) {
		err = fmt.Errorf("%w; if its operator says that the keys were rotated as exposed, add --replace to: "+
			"approvalbot keys trust --client %s", err, display.ShellPath(file.Path))
	}
	if err != nil {
		return "", err
	}
	set := config.ClientDesk{Socket: file.Socket, DeskKeys: got.Keys}
	kept := file.Owner != "" && file.PlainTCP && !replace // a relay may say any name
	if !kept && file.Token != "" && (uses || got.How != "") {
		known := file.ClientFile
		known.DeskKeys = got.Keys
		set.Owner = tokenName(ctx, known, file.Path)
	}
	wrote, err := file.Write(set)
	shown := display.Escape(file.Path)
	switch {
	case err != nil && file.Has(set):
		return fmt.Sprintf("%s has the desk's keys, but not its name for the token: %s", shown, Sentence(err)), nil
	case err != nil:
		return "", err
	}
	file.DeskKeys, file.Owner = got.Keys, cmp.Or(set.Owner, file.Owner)
	switch {
	case !wrote:
		return fmt.Sprintf("%s has the desk's keys.", shown), nil
	case got.How != "":
		return fmt.Sprintf("Renewed %s; its desk was known %s.", shown, display.Escape(got.How)), nil
	}
	return fmt.Sprintf("Wrote into %s the keys of what answers at %s, and trusted this first answer. "+
		"If you are not sure of it,\ncompare the key's id %s with the first kid of\n"+
		"/.well-known/jwks.json on the desk's machine.", shown, display.Escape(cmp.Or(file.Server, config.DefaultServer)), got.Keys[0].ID), nil
}

// tokenName asks the desk what it calls the file's token; empty: it does not say.
func tokenName(ctx context.Context, file config.ClientFile, path string) string {
	c, err := Connect(file, path, nil)
	if err != nil {
		return ""
	}
	info, err := c.TokenInfo(ctx)
	if err != nil {
		return ""
	}
	return info.Name
}
