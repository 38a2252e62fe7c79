package reach

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"

	"approvalbot/api"
	"approvalbot/internal/config"
	"approvalbot/proof"
)

// DeskCheck is the answer of a client file's desk about its keys.
type DeskCheck struct {
	Keys []config.DeskKey // the desk's, as it publishes them
	Old  bool             // the file has older ones, which lead to these
	How  string           // the proof that they are the desk's; empty if they come from the first answer
}

// ErrOtherKeys is in the error of a client file whose keys do not lead to what answers.
var ErrOtherKeys = errors.New("its keys are neither the deskKeys of the client file nor signed by these as their " +
	"successors")

// CheckDesk asks a client file's desk for its keys, without the token, and tells how far they
// can be trusted: by the socket or the file's keys, by the certificate of an https server,
// else, on loopback and if the file names no socket, as the first answer. With anew the
// file's keys are not used.
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
		return DeskCheck{}, fmt.Errorf("the program at %s is %w as the desk: %w", d.server.Host,
			api.ErrNotBelieved, err)
	}
	known := slices.ContainsFunc(pins, func(pin ed25519.PublicKey) bool { return bytes.Equal(pin, leaf) })
	if leaf != nil && !known {
		return DeskCheck{}, fmt.Errorf("the program at %s is %w as the desk: it did not prove that it has the keys "+
			"that it publishes",
			d.server.Host, api.ErrNotBelieved)
	}
	if len(d.keys) == 0 {
		return out, nil
	}
	next, err := proof.Follow(d.keys, told.Successions)
	switch {
	case err != nil || !sameKeys(next, keys):
		return DeskCheck{}, fmt.Errorf("the program at %s is %w as the desk of %s: %w", d.server.Host,
			api.ErrNotBelieved, path, ErrOtherKeys)
	case !sameKeys(next, d.keys):
		out.Old = true
	}
	out.How = "by the keys in the file"
	return out, nil
}

// ask gives the answering program's statement about its keys, the key that it has shown
// by TLS (nil without TLS), and in how the proof of its identity; empty if there is no
// proof.
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
		return told, nil, "", fmt.Errorf("%w; because %s names a socket, approvalbot does not try %s instead; "+
			"start the desk, or correct socket in that file", missing, d.path, d.server.Host)
	case first && d.server.Scheme == "https":
		certified = true
	case first && !config.Loopback(d.server.Hostname()):
		return told, nil, "", fmt.Errorf("%s is on another machine and has no certificate, so its first answer is "+
			"not trusted: set server in %s to an https URL, or copy deskKeys from "+
			"a client file of the desk's machine", d.server.Host, d.path)
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
