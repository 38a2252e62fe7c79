package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"approvalbot/internal/approval"
	"approvalbot/internal/fault"
)

const (
	retiredName = "retired-keys"
	sealedPage  = `SELECT key, sealed FROM approvals WHERE key > $1 AND sealed <> '' ORDER BY key LIMIT $2`
)

// Rotation is what [RotateKey] did.
type Rotation struct {
	OldID   string `json:"oldKeyId"`
	NewID   string `json:"newKeyId"`
	Calls   int    `json:"sealedAnew"`        // sealed calls
	OldFile string `json:"oldFile,omitempty"` // the path of the old key; empty: it was not kept
}

// Retiring gives what the store keeps of a retired key: its public part, as JSON, and the
// log's record of the change. Both seeds are as [Store.Seed] gives them.
type Retiring func(old, next [keySize]byte) (public json.RawMessage, why approval.Event, err error)

// RotateKey gives another key to a store that no process has open: it seals every call
// anew and keeps what retire gives of the old key, in one commit. With keepOld the old
// key stays beside the new one, in a file whose name ends in .old-<id>; otherwise it is
// gone, and older backups cannot be read without a copy of it.
//
// A crash at any point leaves a store that opens: the new key is written beside
// the old one first and takes its place after the commit, and [Open] takes
// whichever of the two the store was sealed with.
func RotateKey(ctx context.Context, o Options, keepOld bool, retire Retiring) (r Rotation, err error) {
	s, err := OpenExisting(ctx, o)
	if err != nil {
		return r, err
	}
	ran := make(chan error, 1)
	go func() { ran <- s.Run(context.WithoutCancel(ctx)) }()
	defer func() { err = errors.Join(err, s.Close(), <-ran) }()
	if s.read == s.write {
		return r, errors.New("a store in memory has no key to rotate")
	}
	if err := s.onlyOne(ctx); err != nil {
		return r, err
	}
	file := realKey(o.KeyFile)
	next, err := draftKey(file)
	if err != nil {
		return r, err
	}
	fault.Point("after-key-drafted")
	r.OldID, r.NewID = s.keys.id, next.id
	if keepOld {
		r.OldFile = file + ".old-" + r.OldID
		if err := os.Link(file, r.OldFile); err != nil && !errors.Is(err, os.ErrExist) {
			return r, fmt.Errorf("the old key cannot be saved beside the key file: %w", err)
		}
	}
	fault.Point("after-old-key-kept")
	public, why, err := retire(s.keys.seed, next.seed)
	if err != nil {
		return r, err
	}
	err = s.do(ctx, func(t *tx) (err error) {
		r.Calls, err = t.rekey(ctx, next, public)
		t.own.events = append(t.own.events, why)
		fault.Point("before-rekey-committed")
		return err
	})
	if err != nil {
		return r, err
	}
	fault.Point("after-rekey-committed")
	return r, replaceKey(file)
}

// rekey makes another key the store's.
func (t *tx) rekey(ctx context.Context, next keyring, public json.RawMessage) (n int, err error) {
	for after := ""; ; {
		page, err := t.sealedAfter(ctx, after)
		if err != nil {
			return n, err
		}
		for _, c := range page {
			call, err := t.keys.open(c.key, c.value)
			if err != nil {
				return n, err
			}
			if _, err := t.exec(sealCall, c.key, next.seal(c.key, call)); err != nil {
				return n, err
			}
			after = c.key
		}
		n += len(page)
		if len(page) < copyPage {
			break
		}
	}
	retired, err := readRetired(ctx, t, t.keys)
	if err != nil {
		return n, err
	}
	if err := t.retire(next, append(retired, public)); err != nil {
		return n, err
	}
	next = next.of(t.keys.store, slog.New(slog.DiscardHandler))
	if err := remark(ctx, t, t.keys, next, marked); err != nil {
		t.refused = true
		return n, err
	}
	if err := next.writeID(t); err != nil {
		return n, err
	}
	_, err = t.exec(setMeta, "key-id", next.id)
	return n, err
}

type sealedCall struct{ key, value string }

func (t *tx) sealedAfter(ctx context.Context, key string) (page []sealedCall, err error) {
	rows, err := t.query(ctx, sealedPage, key, copyPage)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var c sealedCall
		err := rows.Scan((*text)(&c.key), (*text)(&c.value))
		page = append(page, c)
		return err
	})
	return page, err
}

// Retired gives the public parts of the keys that the store had before, oldest first. It
// is sealed, so that an attacker who can only write to the database cannot add a key of
// their own.
func (s *Store) Retired(ctx context.Context) ([]json.RawMessage, error) {
	return readRetired(ctx, s.read, s.keys)
}

func readRetired(ctx context.Context, q querier, keys keyring) (all []json.RawMessage, err error) {
	rows, err := q.query(ctx, readMeta, retiredName)
	if err != nil {
		return nil, err
	}
	var value text
	if found, err := one(rows, &value); err != nil || !found {
		return nil, err
	}
	public, err := keys.open(retiredName, string(value))
	if err == nil {
		err = json.Unmarshal(public, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("the store's row %s, which keeps the keys for checking old receipts and "+
			"checkpoints, was changed: restore a backup", retiredName)
	}
	return all, nil
}

func (t *tx) retire(keys keyring, all []json.RawMessage) error {
	public, err := json.Marshal(all)
	if err == nil {
		_, err = t.exec(setMeta, retiredName, keys.seal(retiredName, public))
	}
	return err
}

// draftKey writes a new key beside the file that it is to replace.
func draftKey(file string) (keyring, error) {
	if err := os.Remove(file + nextKey); err != nil && !errors.Is(err, os.ErrNotExist) { // a rotation that did not finish
		return keyring{}, err
	}
	key, err := makeKey(file + nextKey)
	if err != nil {
		return keyring{}, err
	}
	return newKeyring(key)
}
