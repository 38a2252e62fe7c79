package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"approvalbot/api"
	"approvalbot/core"
)

// Token is an API token as configured. Only the hash of its secret is kept.
type Token struct {
	Name              string   // the owner of what it asks
	Hash              [32]byte // SHA-256 of the secret, see [HashToken]
	Caller            core.Caller
	RequestsPerSecond int // 0: no limit
}

// HashToken gives the hash of a secret for [Token]. Secrets are random and long,
// so one round of SHA-256 is enough.
func HashToken(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

// tokens is one immutable set. Looking a secret up compares hashes, so its time
// tells nothing about any secret.
type tokens struct {
	byHash   map[[32]byte]*holder
	replaced chan struct{} // closed when another set counts
}

type holder struct {
	caller  core.Caller
	pace    *bucket       // nil: no limit
	streams *atomic.Int64 // that are open
}

// maxStreams is how many event streams a token may have open at once, where it may
// not have more approvals pending than that. Each takes a file descriptor for as
// long as its client likes, and those are everybody's.
const maxStreams = 1000

// UseTokens makes another set of tokens count from the next request on, and wakes
// whoever waits to ask whether it still may. A token that keeps its name keeps its
// streams, and with the same limit its pace. On an error the old set stays.
func (s *Server) UseTokens(list []Token) error {
	before := s.tokens.Load()
	next, err := before.replacedBy(list)
	if err != nil {
		return err
	}
	s.tokens.Store(next)
	if before != nil {
		close(before.replaced)
	}
	return nil
}

// CheckTokens says whether [Server.UseTokens] takes a set of tokens.
func (s *Server) CheckTokens(list []Token) error {
	_, err := s.tokens.Load().replacedBy(list)
	return err
}

// replacedBy makes the set that follows another one, or the first after nil.
func (before *tokens) replacedBy(list []Token) (*tokens, error) {
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
		case t.Hash == HashToken("") || t.Hash == [32]byte{}:
			return nil, fmt.Errorf("token %q has an empty secret", t.Name)
		case next[t.Hash] != nil:
			return nil, fmt.Errorf("tokens %q and %q have the same secret", next[t.Hash].caller.Token, t.Name)
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
	return &tokens{next, make(chan struct{})}, nil
}

// has reports whether there is a token of that name.
func (t *tokens) has(name string) bool {
	for _, h := range t.byHash {
		if h.caller.Token == name {
			return true
		}
	}
	return false
}

// Holder says who holds the token of that hash now, for connections that
// outlive a request; false: nobody any more. reloaded is closed when it is worth
// asking again.
func (s *Server) Holder(hash [32]byte) (who core.Caller, reloaded <-chan struct{}, ok bool) {
	t := s.tokens.Load()
	if h := t.byHash[hash]; h != nil {
		return h.caller, t.replaced, true
	}
	return core.Caller{}, t.replaced, false
}

// Standing asks again whether whoever was admitted as who with the token of that
// hash still is that. CodeUnauthorized: the token is gone, or another owner's;
// CodeForbidden: it has lost a scope, or is another agent's. It makes a
// [core.Standing] of the two.
func (s *Server) Standing(hash [32]byte, who core.Caller) core.Standing {
	return func() (again <-chan struct{}, err error) {
		now, again, ok := s.Holder(hash)
		switch {
		case !ok || now.Token != who.Token:
			err = core.Refuse(core.CodeUnauthorized, "This API token is no longer known here.")
		case !now.Keeps(who):
			err = core.Refuse(core.CodeForbidden, "The rights of this API token were changed meanwhile; ask again with those that it has now.")
		}
		return again, err
	}
}

// stream counts one more event stream of the token of that hash until done is
// called. CodeRateLimited: it has as many open as it may.
func (s *Server) stream(hash [32]byte) (done func(), err error) {
	h := s.tokens.Load().byHash[hash]
	if h == nil {
		return nil, core.Refuse(core.CodeUnauthorized, "This API token is not known here.")
	}
	limit := max(maxStreams, int64(h.caller.MaxPending))
	if h.streams.Add(1) > limit {
		h.streams.Add(-1)
		return nil, core.Refuse(core.CodeRateLimited, "This token has %d event streams open, which is its limit; end some.", limit)
	}
	return func() { h.streams.Add(-1) }, nil
}

// authenticate says who is calling, and holds it to its pace.
func (s *Server) authenticate(r *http.Request) (who core.Caller, token [32]byte, err error) {
	secret, err := bearer(r)
	if err != nil {
		return who, token, err
	}
	token = HashToken(secret)
	who, err = s.Admit(token)
	return who, token, err
}

// bearer gives the secret of a request's API token.
func bearer(r *http.Request) (string, error) {
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return "", core.Refuse(core.CodeUnauthorized, "Send an API token: Authorization: Bearer <token>.")
	}
	scheme, secret, _ := strings.Cut(given[0], " ")
	secret = strings.TrimSpace(secret)
	if len(given) == 1 && strings.EqualFold(scheme, "bearer") && secret == "" {
		return "", core.Refuse(core.CodeUnauthorized, "The API token is empty: send Authorization: Bearer <token>.")
	}
	if len(given) > 1 || !strings.EqualFold(scheme, "bearer") {
		return "", core.Refuse(core.CodeUnauthorized, "Send exactly one header Authorization: Bearer <token>.")
	}
	return secret, nil
}

// Admit says who holds the token of that hash, and counts one request of it.
// CodeUnauthorized: nobody does. CodeRateLimited: its pace is used up.
func (s *Server) Admit(hash [32]byte) (core.Caller, error) {
	h := s.tokens.Load().byHash[hash]
	if h == nil {
		return core.Caller{}, core.Refuse(core.CodeUnauthorized, "This API token is not known here.")
	}
	if h.pace != nil && !h.pace.take() {
		return core.Caller{}, core.Refuse(core.CodeRateLimited, "This token makes more than %d requests a second; slow down.", int(h.pace.rate))
	}
	return h.caller, nil
}

// tokenInfo says what the caller's own token is. Its secret is in no answer.
func (s *Server) tokenInfo(c *call) (answer, error) {
	info := api.TokenInfo{Name: c.who.Token, AgentID: c.who.AgentID, Person: c.who.Person, Scopes: []string{}}
	for _, sc := range anyScope {
		if sc.of(c.who) {
			info.Scopes = append(info.Scopes, string(sc))
		}
	}
	return answer{status: http.StatusOK, body: info}, nil
}
