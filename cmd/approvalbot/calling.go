package main

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"

	"approvalbot/callback"
	"approvalbot/config"
	"approvalbot/core"
)

// callbacks is the channel of calls back to owners.
func (d *desk) callbacks() *callback.Channel {
	return callback.New(callback.Config{
		Approval: d.gate.ByKey, Body: d.callbackBody, Owner: d.callbackOwner, Log: d.log,
	})
}

// callbackBody is the approval as its owner would get it, with a receipt once it
// is claimed.
func (d *desk) callbackBody(ctx context.Context, a core.Approval) ([]byte, error) {
	view, err := d.server.View(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.Status == core.Approved && a.RevokedAtMs == 0 {
		if view.Receipt, err = d.auditor.receipt(a); err != nil {
			return nil, err
		}
	}
	return json.Marshal(view)
}

// callbackOwner is what the configuration in force says of a token.
func (d *desk) callbackOwner(name string) (callback.Owner, bool) {
	cfg := d.live.Load()
	i := slices.IndexFunc(cfg.Server.Tokens, func(t config.Token) bool { return t.Name == name })
	if i < 0 {
		return callback.Owner{}, false
	}
	t := cfg.Server.Tokens[i]
	out := callback.Owner{Secret: string(t.CallbackSecret), Secure: cfg.Server.Production}
	for _, network := range t.CallbackAllow {
		if p, err := netip.ParsePrefix(network); err == nil { // Load refused others
			out.Allow = append(out.Allow, p)
		}
	}
	return out, true
}
