package core

import (
	"context"
	"encoding/json"

	"approvalbot/internal/approval"
)

// Announce puts a change of the policy on record.
func (u Upkeep) Announce(ctx context.Context, by, hash string, looser []string) error {
	e, err := policyEvent(by, hash, looser)
	if err != nil {
		return err
	}
	return u.gate.store.Append(ctx, nil, e)
}

// AnnounceVersion puts on record, once in a store's life, that this version allows more by
// the same configuration than the version that served the store before. It reports whether
// it did: a new store has no version before.
func (u Upkeep) AnnounceVersion(ctx context.Context, name string, looser []string) (bool, error) {
	e, err := policyEvent("version", u.gate.PolicyHash(), looser)
	if err != nil {
		return false, err
	}
	return u.gate.store.Once(ctx, name, e)
}

func policyEvent(by, hash string, looser []string) (approval.Event, error) {
	data, err := json.Marshal(map[string]any{"policyHash": hash, "by": by, "looser": looser})
	return approval.Event{AtMs: nowMs(), Type: approval.EventPolicy, Data: data}, err
}
