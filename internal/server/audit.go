package server

import (
	"net/http"
	"slices"
	"strconv"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

func (s *Server) audit(c *call) (answer, error) {
	a := s.cfg.Audit
	if a == nil {
		return answer{}, errNotHere
	}
	seq, hash, err := a.Head(c.ctx)
	if err != nil {
		return answer{}, err
	}
	oldest := c.query.text("order") == "oldest"
	at := seq + 1 // newest first: below it
	if oldest {
		at = 0 // oldest first: above it
	}
	if given := c.query.text("cursor"); given != "" {
		n, err := strconv.ParseUint(given, 10, 62)
		if err != nil {
			return answer{}, approval.Invalid(approval.FieldError{Field: "cursor",
				Problem: "is not the nextCursor of an earlier page"})
		}
		at = int64(n)
	}
	limit := c.query.limit()
	after := at
	if !oldest {
		after = max(0, at-1-int64(limit))
		limit = int(min(int64(limit), at-1-after))
	}
	entries, err := a.Log.Log(c.ctx, after, limit)
	if err != nil {
		return answer{}, err
	}
	if !oldest { // if retention has cut the log, it gave those above
		entries = slices.DeleteFunc(entries, func(e approval.Entry) bool { return e.Seq >= at })
	}
	out := api.AuditPage{Items: make([]api.AuditRecord, len(entries)), HeadSeq: seq, HeadHash: hash, Keys: a.Keys()}
	if a.Checking != nil {
		if at, of, is := a.Checking(); is {
			out.Checking = &api.AuditProgress{Seq: at, HeadSeq: of}
		}
	}
	for i, e := range entries {
		if !oldest {
			i = len(entries) - 1 - i
		}
		out.Items[i] = api.AuditRecord{Seq: e.Seq, AtMs: e.AtMs, Type: string(e.Type), Key: e.Key, Owner: e.Owner,
			Data: e.Data, Hash: e.Hash, PrevHash: e.PrevHash}
	}
	switch n := len(out.Items); {
	case n == 0:
	case oldest && out.Items[n-1].Seq < seq, !oldest && out.Items[n-1].Seq > 1:
		out.NextCursor = strconv.FormatInt(out.Items[n-1].Seq, 10)
	}
	return answer{status: http.StatusOK, body: out}, nil
}

func (s *Server) verifyAudit(c *call) (answer, error) {
	a := s.cfg.Audit
	if a == nil {
		return answer{}, errNotHere
	}
	// It takes a processor for as long as the log is long, and any two find the same.
	if !a.verifying.CompareAndSwap(false, true) {
		return answer{}, approval.Refuse(approval.CodeRateLimited, "The log is being checked already, and one check runs "+
			"at a time; try again when it is over.")
	}
	defer a.verifying.Store(false)
	verify := a.Verify
	if c.query.flag("new") {
		verify = a.VerifyNew
	}
	r, err := verify(c.ctx)
	if err == nil {
		_, err = c.still()
	}
	return answer{status: http.StatusOK, body: r}, err
}

// jwks answers with the keys that receipts are signed with (RFC 7517).
func (s *Server) jwks(w http.ResponseWriter, r *http.Request) {
	body := []byte(`{"keys":[]}`)
	if a := s.cfg.Audit; a != nil {
		body = a.JWKS()
	}
	w.Header().Set("Content-Type", "application/jwk-set+json")
	_, _ = w.Write(body)
}

// deskKeys answers with the keys that clients pin, and how keys before lead to them.
func (s *Server) deskKeys(w http.ResponseWriter, r *http.Request) {
	keys := api.DeskKeys{DeskKeys: []api.DeskKey{}, Successions: []string{}}
	if a := s.cfg.Audit; a != nil && a.Pins != nil {
		keys = a.Pins()
	}
	s.write(w, r, http.StatusOK, plainJSON, keys)
}

// receipt signs what a claimed approval allows; empty if the desk signs no
// receipts.
func (s *Server) receipt(a approval.Approval) (string, error) {
	if s.cfg.Audit == nil || s.cfg.Audit.Receipt == nil {
		return "", nil
	}
	return s.cfg.Audit.Receipt(a)
}
