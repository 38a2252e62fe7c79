package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// GrantKind says what a grant covers.
type GrantKind string

// The kinds of grants. A cool-down is kept like a grant, but refuses.
const (
	SessionGrant GrantKind = "session"  // one subject in one session
	AlwaysGrant  GrantKind = "always"   // one exact call
	PatternGrant GrantKind = "pattern"  // what an operator's pattern fits
	CoolDown     GrantKind = "cooldown" // a person denied this exact call: refused without a card
)

// How long a session grant and a cool-down last at most, in milliseconds.
const (
	sessionGrantMs = 12 * 60 * 60 * 1000
	coolDownMs     = 10 * 60 * 1000
)

// Grant is a standing permission, left by allow-session or allow-always or
// written by an operator, or a cool-down, left by a person's deny. It is bound to
// the owner and agent of the calls that it covers.
type Grant struct {
	ID          string    `json:"id"` // UUID
	Kind        GrantKind `json:"kind"`
	Owner       string    `json:"owner"`
	AgentID     string    `json:"agentId,omitempty"`
	SessionKey  string    `json:"sessionKey,omitempty"`  // SessionGrant
	Subject     string    `json:"subject,omitempty"`     // GrantScope.Subject; of a PatternGrant its Program
	Fingerprint string    `json:"fingerprint,omitempty"` // AlwaysGrant and CoolDown
	Pattern     []string  `json:"pattern,omitempty"`     // PatternGrant: words, see Fits
	ToolName    string    `json:"toolName"`
	Summary     string    `json:"summary"`               // of the call that left it; redacted, escaped, cut
	Reason      string    `json:"reason,omitempty"`      // CoolDown: why they denied; redacted
	MaxClass    RiskClass `json:"maxClass"`              // it covers calls up to this class
	Server      string    `json:"server,omitempty"`      // SessionGrant and AlwaysGrant: whose tool it was (ToolFacts.Server)
	Sandboxed   bool      `json:"sandboxed,omitempty"`   // likewise: it covers calls in a sandbox alone
	ReasonCodes []string  `json:"reasonCodes,omitempty"` // SessionGrant: it covers calls with no others
	Rule        Rule      `json:"rule"`                  // whose yes it was given with: where more is needed today, it does not hold
	By          []string  `json:"by"`                    // who gave it: "person:alice"
	Behind      []string  `json:"behind,omitempty"`      // in whose stead they may have: "person:bob"
	Approval    string    `json:"approval"`              // key of the approval that left it, or empty
	CreatedAtMs int64     `json:"createdAtMs"`
	ExpiresAtMs int64     `json:"expiresAtMs,omitempty"` // 0: until it is removed
}

// GrantFilter selects grants; empty fields select everything.
type GrantFilter struct {
	ID         string
	Owner      string
	AgentID    string
	SessionKey string
	Approval   string
	Live       int64 // not 0: only those that have not expired at that time
	Loosens    bool  // only those that allow something, no cool-downs
	Limit      int   // 0: 1,000
}

// leaveGrant gives what the settled approval leaves behind: a grant for a wider allow, of
// the approvers who gave it, and a cool-down for a person's deny.
func (c Change) leaveGrant(by []string, now int64) Change {
	a := &c.Approval
	var g Grant
	switch {
	case a.Status == Approved && a.Decision == AllowSession:
		g = a.grant(SessionGrant, now)
		g.SessionKey, g.Subject, g.ExpiresAtMs = a.SessionKey, a.Subject, now+sessionGrantMs
		g.ReasonCodes = a.Assessment.ReasonCodes
	case a.Status == Approved && a.Decision == AllowAlways:
		g = a.grant(AlwaysGrant, now)
		g.Fingerprint = a.Fingerprint
	case a.Status == Denied && slices.ContainsFunc(a.Votes, Vote.personsDeny):
		return c.coolDown(a.Reason, now)
	default:
		return c
	}
	g.By, g.Behind = by, lentTo(a.Votes)
	if len(g.Behind) > 0 { // a stand-in's yes is not for good
		g.ExpiresAtMs = now + sessionGrantMs
	}
	return c.addGrant(g, now)
}

func (v Vote) personsDeny() bool { return v.Approver == UserRequest && v.Verdict == Reject }

// coolDown refuses the same call for a while, because a person said no. reason is the approver's,
// and empty if the asker said no.
func (c Change) coolDown(reason string, now int64) Change {
	g := c.Approval.grant(CoolDown, now)
	g.Reason = reason
	g.Fingerprint, g.ExpiresAtMs = c.Approval.Fingerprint, now+coolDownMs
	c.Approval.CoolsUntilMs, c.Approval.AskAgainBy = g.ExpiresAtMs, ""
	if by := strings.Join(c.Approval.DecidedBy, ", "); c.Approval.Subject != "" && c.Approval.SessionKey != "" {
		c.Ends = func(old Grant) (Event, bool) { // a no is the newer word on all that a session's yes covered
			return old.event(EventUngranted, by, now), old.Kind == SessionGrant
		}
	}
	return c.addGrant(g, now)
}

func (c Change) addGrant(g Grant, now int64) Change {
	c.Grants = append(c.Grants, g)
	c.Events = append(c.Events, g.event(EventGranted, "", now))
	return c
}

func (a Approval) grant(kind GrantKind, now int64) Grant {
	a.Rule.Verifier = nil // a grant stands for the approvers' yes alone
	return Grant{
		ID: uuid.NewString(), Kind: kind, Owner: a.Owner, AgentID: a.AgentID, ToolName: a.ToolName, Summary: a.Summary,
		MaxClass: a.Assessment.RiskClass, Rule: a.Rule, By: a.DecidedBy, Approval: a.Key, CreatedAtMs: now,
		Server: a.Context.Tool.Server, Sandboxed: a.Context.Sandboxed,
	}
}

// event is the grant's entry in the log; by says who removed it.
func (g Grant) event(t EventType, by string, now int64) Event {
	data, err := json.Marshal(struct {
		Grant Grant  `json:"grant"`
		By    string `json:"by,omitempty"`
	}{g.Redacted(), by})
	if err != nil { // plain values always marshal
		panic(err)
	}
	return Event{AtMs: now, Type: t, Key: g.Approval, Owner: g.Owner, Data: data}
}

// Live reports whether the grant has not expired.
func (g Grant) Live(now int64) bool { return g.ExpiresAtMs == 0 || now < g.ExpiresAtMs }

// covers reports whether the grant stands for a call that policy would ask about
// as a describes it. A grant never exceeds what a card could offer today: a scope
// that is no longer offered, a higher class, another reason or more people needed ask again, and
// so does a request of somebody who gave the grant (see givenByAsker), and what was given by
// somebody who may not decide such a call any more.
func (g Grant) covers(a Approval, r GrantScope, d *Directory, now int64) bool {
	lost := a.givenByAsker(g.By, g.Behind, d) || g.giversLost(a.Rule.Needs, d)
	another := g.Owner != a.Owner || g.AgentID != a.AgentID || a.Rule.StepUp // each call wants its own signature
	stricter := a.Assessment.RiskClass > g.MaxClass || g.Rule.asksLess(a.Rule)
	if lost || another || stricter || !g.Live(now) {
		return false
	}
	elsewhere := g.Server != a.Context.Tool.Server || g.Sandboxed && !a.Context.Sandboxed
	if elsewhere && g.Kind != PatternGrant {
		return false
	}
	switch g.Kind {
	case SessionGrant:
		known := g.Subject != "" && a.SessionKey != ""
		same := known && g.Subject == a.Subject && g.SessionKey == a.SessionKey
		other := func(code string) bool { return !slices.Contains(g.ReasonCodes, code) }
		return same && slices.Contains(a.Offers, AllowSession) && !slices.ContainsFunc(a.Assessment.ReasonCodes, other)
	case AlwaysGrant:
		return g.Fingerprint == a.Fingerprint && slices.Contains(a.Offers, AllowAlways)
	case PatternGrant:
		return g.Subject != "" && g.Subject == r.Program && Fits(g.Pattern, r.Words)
	}
	return false
}

// giversLost reports whether somebody on whose yes the grant rests could not give it any more: a
// person whom the configuration does not know, one who may decide no call, or too few with a
// role that is needed. Who writes a pattern need not decide calls. A right that a chat's role
// gives is seen at a tap alone, so who may have one counts.
func (g Grant) giversLost(needs []Need, d *Directory) bool {
	behind := slices.Concat(g.By, g.Behind)
	lost := func(name string) bool {
		giver := d.voterNamed(name)
		switch {
		case giver.Person != "" && !d.Known(giver.Person):
			return true
		case g.Kind == PatternGrant || !strings.Contains(name, ":"): // a rule said yes, not a person
			return false
		case giver.Person != "":
			return !d.decidesOnWeb(giver.Person) && !d.byRole(d.people[giver.Person])
		}
		return !d.MayDecide(giver) && len(d.roles[giver.Channel]) == 0
	}
	if slices.ContainsFunc(behind, lost) {
		return true
	}
	return g.Kind != PatternGrant && slices.ContainsFunc(needs, func(n Need) bool {
		have := 0
		for _, name := range behind {
			if giver := d.voterNamed(name); giver.Person != "" && d.mayHave(n.Role, d.people[giver.Person]) {
				have++
			}
		}
		return have < n.Min
	})
}

// Fits reports whether the words of a command fit a pattern: word by word and
// exactly, "*" stands for one word, whatever it is, and a last "**" for any
// further ones. Neither stands for an option, since some options name programs
// to run: a pattern covers those that it spells out.
func Fits(pattern, words []string) bool {
	free := func(w string) bool { return w == "" || w[0] != '-' }
	for i, p := range pattern {
		switch {
		case p == "**" && i == len(pattern)-1:
			return !slices.ContainsFunc(words[min(i, len(words)):], func(w string) bool { return !free(w) })
		case i >= len(words), p == "*" && !free(words[i]), p != "*" && p != words[i]:
			return false
		}
	}
	return len(pattern) > 0 && len(pattern) == len(words)
}

// refuses reports whether the grant is a cool-down for this very call.
func (g Grant) refuses(a Approval, now int64) bool {
	same := g.Fingerprint == a.Fingerprint && g.Owner == a.Owner && g.AgentID == a.AgentID
	return g.Kind == CoolDown && same && g.Live(now)
}

// deniedText says who denied the cool-down's call, how long ago and why. The asking agent reads
// it: how an operator ends the cool-down is not in it.
func (g Grant) deniedText(now int64) string {
	text := fmt.Sprintf("%s denied this very call %s ago", People(g.By), spanText(now-g.CreatedAtMs))
	if g.Reason != "" {
		text += ": " + g.Reason
	}
	return text
}

// byGrant settles the draft by what was granted or refused before, if anything
// speaks about it.
func (a Approval) byGrant(f Existing, r GrantScope, d *Directory, now int64) Approval {
	for _, g := range f.Grants {
		if a.Status != Denied && g.refuses(a, now) {
			a.Status, a.Decision, a.DecidedBy = Denied, Deny, []string{"grant:" + g.ID}
			a.Reason = g.deniedText(now) + "; it is refused without asking again until " + timeText(g.ExpiresAtMs, time.Local)
			a.Assessment.ReasonCodes = append(slices.Clone(a.Assessment.ReasonCodes), ReasonRecentlyDenied)
			return a
		}
	}
	if a.Status != Pending || !a.Rule.AsksApprovers() || a.Context.Tool.Changed {
		return a // a grant was given for the tool as it was
	}
	for _, g := range f.Grants {
		switch {
		case !g.covers(a, r, d, now):
		case a.Rule.AsksVerifier():
			return a.onlyVerifier("grant:" + g.ID)
		default:
			a.Status, a.Decision, a.DecidedBy = Approved, AllowOnce, []string{"grant:" + g.ID}
			return a
		}
	}
	return a
}

// coolingDown reports whether a cool-down refused the call, and no person was asked.
func (a Approval) coolingDown() bool {
	return a.Status == Denied && slices.Contains(a.Assessment.ReasonCodes, ReasonRecentlyDenied)
}

// byRecord reports whether a grant or a cool-down settled the approval, or a grant
// stands for its approvers.
func (a Approval) byRecord() bool {
	stands := a.Rule.Verifier != nil && strings.HasPrefix(a.Rule.Verifier.Instead, "grant:")
	return stands || len(a.DecidedBy) > 0 && strings.HasPrefix(a.DecidedBy[0], "grant:")
}
