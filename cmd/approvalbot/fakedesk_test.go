package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeDesk answers the API as a script says, in the JSON of the contract. It
// keeps one approval and everything that was asked of it.
type fakeDesk struct {
	*httptest.Server
	mu         sync.Mutex
	approval   map[string]any
	listed     []map[string]any
	create     string        // status of the created approval
	meanwhile  func()        // happens between a request to create one and its answer
	claim      string        // ok, other, drop (the first answer is lost) or a code, perhaps code:why
	problem    string        // every request is refused with this code
	cannotGet  string        // likewise every look at one approval
	cannotVote string        // likewise every vote
	changed    chan struct{} // closed at the next change
	claimIDs   []string
	seen       int      // how much of log a script has waited for
	log        []string // method, path and body
}

// deskID is an id that the desk made; its code is 7KQ2M5.
const deskID = "3cee2a14-5e6f-4a7b-8c9d-0e1f2a3b4c5d"

// newFakeDesk starts a desk at which whatever is asked is approved at once.
func newFakeDesk() *fakeDesk {
	d := &fakeDesk{create: "approved", claim: "ok", changed: make(chan struct{})}
	d.approval = newApproval(deskID, "7KQ2M5")
	d.Server = httptest.NewServer(d)
	return d
}

// newApproval is a pending approval, every field of the contract filled.
func newApproval(id, code string) map[string]any {
	now := time.Now()
	return map[string]any{
		"id": id, "code": code, "owner": "main-agent", "status": "pending", "decision": nil, "reason": "", "decidedBy": []string{},
		"toolName": "exec", "paramsSummary": "rm -rf build", "argsFingerprint": strings.Repeat("ab", 32),
		"agentId": "main", "sessionKey": "nightly", "channel": "", "requester": nil, "justification": "", "actionSummary": "",
		"riskClass": "R3", "sideEffects": []string{"data_loss"}, "confidence": 1, "source": "static",
		"reasonCodes": []string{"exec-delete"}, "why": []string{"It deletes a directory."}, "policyHash": "ff",
		"approvers": map[string]any{"allowed": []string{"user_request"}, "disabled": []string{}, "effective": []string{"user_request"}, "minApprovals": 1, "requiresHuman": true},
		"offers":    []string{"allow-once", "deny"}, "votes": []any{}, "deliveries": []any{}, "reached": true,
		"createdAtMs": now.UnixMilli(), "expiresAtMs": now.Add(15 * time.Minute).UnixMilli(),
		"card": map[string]any{
			"outcome": "", "headline": "main-agent asks to run", "call": []any{map[string]any{"name": "command", "value": "rm -rf build", "block": true}},
			"place": "", "summary": "", "risk": "External change or irreversible (R3): deletes a directory", "claims": []string{}, "warnings": []string{},
			"flags": []string{}, "votes": "", "wider": []string{}, "details": []any{map[string]any{"name": "Tool", "value": "exec", "own": true}},
		},
	}
}

// end gives the approval its final status and wakes who waits for it.
func (d *fakeDesk) end(status, decision, by, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked(status, decision, by, reason)
}

func (d *fakeDesk) endLocked(status, decision, by, reason string) {
	d.approval["status"], d.approval["reason"], d.approval["decidedBy"] = status, reason, []string{}
	if by != "" {
		d.approval["decidedBy"] = []string{by}
	}
	if decision != "" {
		d.approval["decision"] = decision
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

// requests gives what was asked, one request a line.
func (d *fakeDesk) requests() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.log, "\n") + "\n"
}

// sees reports whether a request holding the text has come since the last one
// that it reported.
func (d *fakeDesk) sees(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, line := range d.log[d.seen:] {
		if strings.Contains(line, text) {
			d.seen += i + 1
			return true
		}
	}
	return false
}

func (d *fakeDesk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Header.Get("Authorization"), r.Method, r.URL.RequestURI(), body)))
	switch verb := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v1/approvals"); {
	case d.problem != "":
		refuseWith(w, d.problem)
	case verb == "GET ":
		d.list(w)
	case verb == "GET /v1/stats":
		d.stats(w)
	case verb == "POST ":
		d.ask(w, body)
	case r.Method == http.MethodGet && d.cannotGet != "":
		refuseWith(w, d.cannotGet)
	case r.Method == http.MethodGet:
		d.get(w, r)
	case d.cannotVote != "" && strings.HasSuffix(verb, "/resolve"):
		refuseWith(w, d.cannotVote)
	default:
		d.step(w, verb[strings.LastIndex(verb, "/")+1:], body)
	}
}

func (d *fakeDesk) ask(w http.ResponseWriter, body []byte) {
	if d.meanwhile != nil {
		d.meanwhile()
	}
	var in map[string]any
	if json.Unmarshal(body, &in) != nil {
		refuseWith(w, "malformed")
		return
	}
	d.approval["params"] = in["params"]
	switch d.create {
	case "approved":
		d.endLocked("approved", "allow-once", "policy", "")
	case "denied":
		d.endLocked("denied", "deny", "policy", "Policy denies risk class R4.")
	case "pending":
		for _, k := range []string{"status", "decision", "reason", "decidedBy"} {
			d.approval[k] = newApproval("", "")[k]
		}
	}
	answerWith(w, d.shown())
}

// shown is the approval without the raw params.
func (d *fakeDesk) shown() map[string]any {
	out := map[string]any{}
	for k, v := range d.approval {
		if k != "params" {
			out[k] = v
		}
	}
	return out
}

// stats counts the approval while it is pending.
func (d *fakeDesk) stats(w http.ResponseWriter) {
	if d.approval["status"] != "pending" {
		answerWith(w, map[string]any{})
		return
	}
	n := map[string]any{"name": "exec", "calls": 1, "asked": 1, "askedPer100": 100}
	answerWith(w, map[string]any{"all": n, "byTool": []any{n}, "byClass": []any{n},
		"byStatus":    []any{map[string]any{"name": "pending", "count": 1}},
		"reasonCodes": []any{map[string]any{"name": "exec-delete", "count": 1}}})
}

func (d *fakeDesk) list(w http.ResponseWriter) {
	items := d.listed
	if items == nil {
		items = []map[string]any{}
		if d.approval["status"] == "pending" {
			items = append(items, d.shown())
		}
	}
	answerWith(w, map[string]any{"items": items, "nextCursor": ""})
}

func (d *fakeDesk) get(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("wait") != "" && d.approval["status"] == "pending" {
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		d.mu.Lock()
	}
	answerWith(w, d.shown())
}

func (d *fakeDesk) step(w http.ResponseWriter, verb string, body []byte) {
	var in struct{ Decision, Reason, ClaimID string }
	_ = json.Unmarshal(body, &in)
	switch verb {
	case "withdraw":
		d.endLocked("withdrawn", "", "token:main-agent", in.Reason)
	case "resolve":
		status := "approved"
		if in.Decision == "deny" {
			status = "denied"
		}
		d.endLocked(status, in.Decision, "person:alice", in.Reason)
	case "revoke":
		d.approval["revokedAtMs"] = time.Now().UnixMilli()
	case "claim":
		d.hand(w, in.ClaimID)
		return
	}
	answerWith(w, d.shown())
}

// hand answers a claim.
func (d *fakeDesk) hand(w http.ResponseWriter, claimID string) {
	params := d.approval["params"]
	first := len(d.claimIDs) == 0
	d.claimIDs = append(d.claimIDs, claimID)
	switch {
	case d.claim == "drop" && first:
		panic(http.ErrAbortHandler)
	case d.claim == "drop" && d.claimIDs[0] != claimID:
		refuseWith(w, "already_used")
		return
	case d.claim == "other":
		params = map[string]any{"argv": []string{"touch", "ran"}, "workdir": "/"}
	case d.claim != "ok" && d.claim != "drop":
		refuseWith(w, d.claim)
		return
	}
	answerWith(w, map[string]any{"toolName": "exec", "params": params, "fingerprint": d.approval["argsFingerprint"], "decision": "allow-once"})
}

func answerWith(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

var problemStatus = map[string]int{
	"unauthorized": 401, "forbidden": 403, "self_approval": 403, "not_found": 404, "not_claimable": 409, "already_used": 409,
	"already_resolved": 409, "invalid_request": 422, "approvals_disabled": 503, "unavailable": 503, "malformed": 400,
}

// refuseWith answers with a problem: a code, perhaps with its why.
func refuseWith(w http.ResponseWriter, code string) {
	code, why, _ := strings.Cut(code, ":")
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(problemStatus[code])
	p := map[string]any{"type": "urn:approvalbot:problem:" + code, "title": code, "status": problemStatus[code], "code": code, "detail": "The desk says no."}
	if why != "" {
		p["why"] = why
	}
	if code == "approvals_disabled" {
		p["detail"] = "approvals disabled"
	}
	_ = json.NewEncoder(w).Encode(p)
}

// deskFor gives a desk for one test.
func deskFor(t *testing.T) *fakeDesk {
	t.Helper()
	d := newFakeDesk()
	t.Cleanup(d.Close)
	return d
}
