package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"

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
type tokens map[[32]byte]*holder

type holder struct {
	caller core.Caller
	pace   *bucket // nil: no limit
}

// UseTokens makes another set of tokens count from the next request on. A token
// that keeps its name and limit keeps its pace. On an error the old set stays.
func (s *Server) UseTokens(list []Token) error {
	old := map[string]*bucket{}
	if t := s.tokens.Load(); t != nil {
		for _, h := range *t {
			old[h.caller.Token] = h.pace
		}
	}
	next, names := tokens{}, map[string]bool{}
	for _, t := range list {
		switch {
		case t.Name == "":
			return errors.New("a token has no name")
		case names[t.Name]:
			return fmt.Errorf("two tokens are named %q", t.Name)
		case t.Hash == HashToken("") || t.Hash == [32]byte{}:
			return fmt.Errorf("token %q has an empty secret", t.Name)
		case next[t.Hash] != nil:
			return fmt.Errorf("tokens %q and %q have the same secret", next[t.Hash].caller.Token, t.Name)
		}
		names[t.Name] = true
		h := &holder{caller: t.Caller}
		h.caller.Token = t.Name
		if t.RequestsPerSecond > 0 {
			h.pace = old[t.Name]
			if h.pace == nil || h.pace.rate != float64(t.RequestsPerSecond) {
				h.pace = newBucket(t.RequestsPerSecond)
			}
		}
		next[t.Hash] = h
	}
	s.tokens.Store(&next)
	return nil
}

// authenticate says who is calling, and holds it to its pace.
func (s *Server) authenticate(r *http.Request) (core.Caller, error) {
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return core.Caller{}, core.Refuse(core.CodeUnauthorized, "Send an API token: Authorization: Bearer <token>.")
	}
	scheme, secret, _ := strings.Cut(given[0], " ")
	secret = strings.TrimSpace(secret)
	if len(given) > 1 || !strings.EqualFold(scheme, "bearer") || secret == "" {
		return core.Caller{}, core.Refuse(core.CodeUnauthorized, "Send exactly one header Authorization: Bearer <token>.")
	}
	h := (*s.tokens.Load())[HashToken(secret)]
	if h == nil {
		return core.Caller{}, core.Refuse(core.CodeUnauthorized, "This API token is not known here.")
	}
	if h.pace != nil && !h.pace.take() {
		return core.Caller{}, core.Refuse(core.CodeRateLimited, "This token makes more than %d requests a second; slow down.", int(h.pace.rate))
	}
	return h.caller, nil
}
