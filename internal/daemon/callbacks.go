package daemon

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/callback"
	"approvalbot/internal/config"
)

// callbacks is the channel of calls back to owners.
func (d *Daemon) callbacks() *callback.Channel {
	return callback.New(callback.Config{
		Approval: d.Gate.ByKey, Body: d.callbackBody, Owner: d.CallbackOwner, Log: d.log,
	})
}

// callbackBody is the approval as its owner would get it, with a receipt if it is
// approved: of the approval, so it does not name a claim.
func (d *Daemon) callbackBody(ctx context.Context, a approval.Approval) ([]byte, error) {
	view, err := d.Server.View(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.Status == approval.Approved && a.RevokedAtMs == 0 {
		a.ClaimID = ""
		if view.Receipt, err = d.Auditor.Receipt(a); err != nil {
			return nil, err
		}
	}
	return json.Marshal(view)
}

// CallbackOwner is a token's entry in the configuration in force.
func (d *Daemon) CallbackOwner(name string) (callback.Owner, bool) {
	cfg := d.Config()
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
