// Package auth identifies callers by the hash of a token's secret, and decides what that
// token may do, and how often. A set of tokens can be replaced while connections are
// open.
package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/inforce"
)

// Token is an API token as configured. Only the hash of its secret is kept.
type Token struct {
	Name              string   // the owner of what it asks
	Hash              [32]byte // SHA-256 of the secret, see [Hash]
	Caller            core.Caller
	RequestsPerSecond int // 0: no limit
}

// Hash gives the hash of a secret for [Token]. Secrets are random and long,
// so one round of SHA-256 is enough.
func Hash(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

// Tokens are the API tokens in force, empty at first: see [Tokens.Use]. Safe
// for concurrent use.
type Tokens struct{ now inforce.Value[Set] }

// Set is one immutable set of tokens. Looking a secret up compares hashes, so its
// duration does not reveal a secret.
type Set struct {
	byHash   map[[32]byte]*holder
	replaced chan struct{} // closed when another set counts
}

type holder struct {
	caller  core.Caller
	pace    *bucket       // nil: no limit
	streams *atomic.Int64 // that are open
}

// MaxStreams is how many event streams a token may have open at once, unless it
// may have more approvals pending than that. Each takes a file descriptor for as
// long as its client likes, and all tokens share those.
const MaxStreams = 1000

// Use makes another set of tokens count from the next request on, for Tokens that follow no snapshot.
// On an error the old set stays.
func (t *Tokens) Use(list []Token) error {
	before := t.now.Load()
	next, err := t.Next(list)
	if err != nil {
		return err
	}
	t.now.Store(next)
	before.Replaced()
	return nil
}

// Follow makes the set that counts a part of a snapshot. It is for before anything is served.
func (t *Tokens) Follow(set func() *Set) { t.now.Follow(set) }

// InForce gives the set that counts now; nil if not set yet.
func (t *Tokens) InForce() *Set { return t.now.Load() }

// Replaced wakes everyone who waits to ask whether they still may, once another set counts.
func (s *Set) Replaced() {
	if s != nil {
		close(s.replaced)
	}
}

// Next makes the set that follows the one in force. A token that keeps its name keeps its
// streams, and with the same limit its pace.
func (t *Tokens) Next(list []Token) (*Set, error) {
	before := t.now.Load()
	old := map[string]*holder{}
	if before != nil {
		for _, h := range before.byHash {
			old[h.caller.Token] = h
		}
	}
	next, names := map[[32]byte]*holder{}, map[string]bool{}
	for _, t := range list {
		switch {
		case t.Name == "":
			return nil, errors.New("a token has no name")
		case names[t.Name]:
			return nil, fmt.Errorf("two tokens are named %q", t.Name)
		case t.Hash == Hash("") || t.Hash == [32]byte{}:
			return nil, fmt.Errorf("token %q has an empty secret", t.Name)
		case next[t.Hash] != nil:
			return nil, fmt.Errorf("tokens %q and %q have the same secret: give each one of its own",
				next[t.Hash].caller.Token, t.Name)
		}
		names[t.Name] = true
		was := old[t.Name]
		if was == nil {
			was = &holder{streams: &atomic.Int64{}}
		}
		h := &holder{caller: t.Caller, streams: was.streams}
		h.caller.Token = t.Name
		if t.RequestsPerSecond > 0 {
			h.pace = was.pace
			if h.pace == nil || h.pace.rate != float64(t.RequestsPerSecond) {
				h.pace = newBucket(t.RequestsPerSecond)
			}
		}
		next[t.Hash] = h
	}
	return &Set{next, make(chan struct{})}, nil
}

// Has reports whether there is a token of that name.
func (t *Tokens) Has(name string) bool {
	for _, h := range t.now.Load().byHash {
		if h.caller.Token == name {
			return true
		}
	}
	return false
}

// Holder gives the caller of the token with that hash now, for connections that
// outlive a request; ok is false if the token is not in force any more. reloaded
// is closed when it is worth asking again.
func (t *Tokens) Holder(hash [32]byte) (who core.Caller, reloaded <-chan struct{}, ok bool) {
	now := t.now.Load()
	if h := now.byHash[hash]; h != nil {
		return h.caller, now.replaced, true
	}
	return core.Caller{}, now.replaced, false
}

// Standing makes a [core.Standing] that checks whether the caller who was
// admitted as who, with the token of that hash, still has those rights.
// CodeUnauthorized: the token is gone, or belongs to another owner;
// CodeForbidden: it has lost a scope, or belongs to another agent.
func (t *Tokens) Standing(hash [32]byte, who core.Caller) core.Standing {
	return func() (again <-chan struct{}, err error) {
		now, again, ok := t.Holder(hash)
		switch {
		case !ok || now.Token != who.Token:
			err = approval.Refuse(approval.CodeUnauthorized, "The desk no longer knows this API token.")
		case !now.Keeps(who):
			err = approval.Refuse(approval.CodeForbidden, "The rights of this API token were changed during this "+
				"request; send the request again.")
		}
		return again, err
	}
}

// Stream counts one more event stream of the token of that hash until done is
// called. CodeRateLimited: it has as many open as it may.
func (t *Tokens) Stream(hash [32]byte) (done func(), err error) {
	h := t.now.Load().byHash[hash]
	if h == nil {
		return nil, approval.Refuse(approval.CodeUnauthorized, "The desk does not know this API token.")
	}
	limit := max(MaxStreams, int64(h.caller.MaxPending))
	if h.streams.Add(1) > limit {
		h.streams.Add(-1)
		return nil, approval.Refuse(approval.CodeRateLimited, "This token has %d event streams open, which is its limit; "+
			"end some.", limit)
	}
	return func() { h.streams.Add(-1) }, nil
}

// Authenticate gives the caller with those Authorization headers, and enforces its rate
// limit.
func (t *Tokens) Authenticate(headers []string) (who core.Caller, token [32]byte, err error) {
	secret, err := Bearer(headers)
	if err != nil {
		return who, token, err
	}
	token = Hash(secret)
	who, err = t.Admit(token)
	return who, token, err
}

// Bearer gives the secret of an API token from the Authorization headers of a request.
func Bearer(given []string) (string, error) {
	if len(given) == 0 {
		return "", approval.Refuse(approval.CodeUnauthorized, "Send an API token: Authorization: Bearer <token>.")
	}
	scheme, secret, _ := strings.Cut(given[0], " ")
	secret = strings.TrimSpace(secret)
	if len(given) == 1 && strings.EqualFold(scheme, "bearer") && secret == "" {
		return "", approval.Refuse(approval.CodeUnauthorized, "The API token is empty: send Authorization: Bearer <token>.")
	}
	if len(given) > 1 || !strings.EqualFold(scheme, "bearer") {
		return "", approval.Refuse(approval.CodeUnauthorized, "Send exactly one header Authorization: Bearer <token>.")
	}
	return secret, nil
}

// Admit gives the caller of the token with that hash, and counts one request of
// it. CodeUnauthorized: there is no such token. CodeRateLimited: its pace is
// used up.
func (t *Tokens) Admit(hash [32]byte) (core.Caller, error) {
	h := t.now.Load().byHash[hash]
	if h == nil {
		return core.Caller{}, approval.Refuse(approval.CodeUnauthorized, "The desk does not know this API token.")
	}
	if h.pace != nil && !h.pace.take() {
		return core.Caller{}, approval.Refuse(approval.CodeRateLimited,
			"This token makes more than %d requests a second; slow down.", int(h.pace.rate))
	}
	return h.caller, nil
}
