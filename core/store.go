package core

import (
	"context"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// ErrDisbelieved is a record that something else than the desk wrote: it does not count.
var ErrDisbelieved = approval.Refuse(approval.CodeNotFound, "A program other than the desk changed this record in "+
	"the desk's store, so the desk ignores the record. An operator can check the store with: approvalbot audit verify.")

// Stores keep everything: what one process has committed, every other one sees. They are one
// store, by what is kept.
type Stores struct {
	Changes
	Queries
	GrantStore
	CallStore
	DigestStore
	AbsenceStore
	CountStore
}

// CountStore counts approvals.
type CountStore interface {
	// Counted counts the approvals that were asked for since that time, of an owner or, if that
	// is empty, of all.
	Counted(ctx context.Context, owner string, sinceMs int64) (Counter, error)
	// Recount forgets what was counted before, which is then counted again in the background.
	Recount(ctx context.Context) error
}

// Changes is the one way to write. Create and Update run fn inside the transaction
// that commits its Change; fn is pure and quick and may run more than once. An error
// from fn rolls everything of it back and is returned as it is.
type Changes interface {
	// Agreed gives nil if the policy of that hash is the one that counts for all instances
	// that share the store, as far as this process knows, and else CodeUnavailable, which
	// says what to do. It does not wait. For a Change with a Policy, Create and Update give
	// the same, but from the transaction itself.
	Agreed(policy string) error
	// Create looks up what the new approval could collide with, calls fn with
	// it, and commits all returned changes together. It writes the approvals, as
	// committed and with their deliveries, back into the slice that fn returned.
	// ErrCodeTaken when another approval has the code of a new one.
	Create(ctx context.Context, look Lookup, fn func(Existing) ([]Change, error)) error
	// Update loads one approval by key, calls fn with it, and commits the change.
	// CodeNotFound if there is no such approval.
	Update(ctx context.Context, key string, fn func(approval.Approval) (Change, error)) (approval.Approval, error)
	// Append adds events to the log and marks handled (if not nil), without
	// changing any approval.
	Append(ctx context.Context, handled *approval.InboundRef, events ...approval.Event) error
	// Once notes a name for good and appends the event, if the store does not have that name
	// yet and is not new. It reports whether it appended.
	Once(ctx context.Context, name string, e approval.Event) (appended bool, err error)
}

// Queries finds approvals.
type Queries interface {
	// Get gives one approval by its key, with deliveries.
	Get(ctx context.Context, key string) (approval.Approval, error)
	// Bare gives one approval by its key, without deliveries.
	Bare(ctx context.Context, key string) (approval.Approval, error)
	// Ended gives those of the approvals that have ended, with deliveries, if several processes share
	// the store.
	Ended(ctx context.Context, keys []string) ([]approval.Approval, error)
	// Newest is Bare for a drawing: it may be what this process committed last, if no other
	// one writes. A call must not be allowed by it.
	Newest(ctx context.Context, key string) (approval.Approval, error)
	// Keys finds approvals by one of the names that people and owners use.
	Keys(ctx context.Context, q NameQuery) ([]Named, error)
	// List gives approvals newest first.
	List(ctx context.Context, f Filter) (Page, error)
}

// GrantStore keeps standing permissions and cool-downs.
type GrantStore interface {
	// Covering gives the grants and cool-downs that could speak about a call.
	Covering(ctx context.Context, look Lookup) ([]approval.Grant, error)
	// Grants gives grants and cool-downs, newest first.
	Grants(ctx context.Context, f GrantFilter) ([]approval.Grant, error)
	// DropGrants removes those that the filter selects (an empty filter selects no grant),
	// appends what event makes of each to the log, in one transaction, and gives what it
	// removed.
	DropGrants(ctx context.Context, f GrantFilter, event func(approval.Grant) approval.Event) ([]approval.Grant, error)
	// AddGrant stores one that no approval left, with its event.
	AddGrant(ctx context.Context, g approval.Grant, e approval.Event) error
}

// CallStore keeps what is known of calls beside their approvals, and of the chats
// that take their cards.
type CallStore interface {
	// Sealed gives the canonical call that was sealed under key, or
	// CodeRetryDataGone when it was deleted.
	Sealed(ctx context.Context, key string) ([]byte, error)
	// TriedConfined gives the key of the approval by which that very call of that owner's agent failed confined
	// lately; empty: it did not.
	TriedConfined(ctx context.Context, owner, agentID, fingerprint string, nowMs int64) (key string, err error)
	// SeenTool gives the hash of what was said of a server's tool when a call of it was
	// last handed out to that owner; empty if no call was.
	SeenTool(ctx context.Context, owner, server, tool string) (hash string, err error)
	// Unreachable gives the chats (without threads) whose last try had NoAnswer.
	Unreachable(ctx context.Context) (map[approval.Target]approval.Unreachable, error)
}

// DigestStore keeps what digests have listed.
type DigestStore interface {
	// Digest gives what a digest lists now, and names it by a version: the newest version
	// if that lists the same, else a new one, which is kept before it is shown.
	Digest(ctx context.Context, d approval.Delivery, limit int) (card.DigestList, error)
	// DigestVersion gives the keys that a version of a digest lists, in its order, or
	// CodeNotFound.
	DigestVersion(ctx context.Context, d approval.Delivery, version int64) (keys []string, err error)
}

// AbsenceStore keeps who is away.
type AbsenceStore interface {
	// Absences gives those that were said and not taken back, over or not.
	Absences(ctx context.Context) (people.Absences, error)
	// Absent calls fn with them, commits what it makes of them with its event, marks
	// handled (if not nil), all in one transaction, and gives them as they are then. A
	// Change that depends on the absences before is committed before it or not at all. If
	// fn gives an error, Absent writes no change and returns the error as it is. ErrHandled
	// if the platform update was handled before.
	Absent(ctx context.Context, handled *approval.InboundRef, fn func(people.Absences) (AbsenceChange, error)) (people.Absences, error)
}

// Lookup says what a new approval could collide with.
type Lookup struct {
	Owner       string
	ID          string // the owner's own id, or empty
	Fingerprint string
	AgentID     string
	SessionKey  string // empty: no de-duplication
	ResumeMs    int64  // look for an approved one, too, that may be claimed after that time; 0: do not
	Supersedes  string // an id of the same owner, or empty
	Code        string // of the new approval: no two instances give the same at once
	Flood       int    // count the owner's newest cards if it has so many approvals pending; 0: do not
	Grants      bool   // look for grants and cool-downs too
	Push        bool   // look for subscribed browsers too
	Subject     string // with Grants: what a session grant would have to cover, or empty
	Program     string // with Grants: the call's GrantScope.Program, or empty
}

// MostSame is how many approvals of one call are looked at: there is more than one only if people must see a difference
// between them, such as whether it runs confined.
const MostSame = 8

// Existing is what a Lookup found.
type Existing struct {
	ByID       *approval.Approval  // the owner's approval of that id, in any status
	Another    bool                // with ID: people could mean an approval by it, see KeysCalled
	Same       []approval.Approval // the pending ones with the same fingerprint, owner, agent and session, newest first; at most MostSame
	Unclaimed  []approval.Approval // with ResumeMs: the approved ones likewise, that were not claimed
	Superseded *approval.Approval  // the owner's approval named by Supersedes
	Pending    int                 // how many of the owner's approvals are pending
	// Cards is how many cards of the owner's pending approvals were made within FloodMs for
	// each place, folded ones too.
	Cards  map[approval.Target]int
	Pushed []Subscriber     // with Push: all that there are
	Grants []approval.Grant // the owner's for this agent, by fingerprint, program or subject (of this session)
}

// Subscriber is a browser that a person is notified in: the id of their subscription.
type Subscriber struct{ ID, Person string }

// NameQuery looks approvals up by name; every field that is set adds matches.
type NameQuery struct {
	Owner  string // with ID: only that owner's
	ID     string // exact id or alias
	Code   string // exact code, upper-case
	Prefix string // prefix of a server-made id that its owner did not replace
}

// Named is one match of a NameQuery.
type Named struct {
	Key    string
	Status approval.Status
	By     string // "id", "code" or "prefix"
}

// Filter selects approvals for a listing. Empty fields select everything.
type Filter struct {
	Owner      string
	Status     approval.Status
	AgentID    string
	SessionKey string
	ToolName   string
	Risk       *approval.RiskClass // nil: any
	BeforeMs   int64               // asked for before that time; 0: whenever
	SinceMs    int64               // asked for then or later
	Limit      int                 // 1 to 200
	Cursor     string              // Page.Next of the page before
	// Round: only those that have an open retry round. A page may then have fewer than Limit.
	Round bool
	// Search are words: only approvals of which Speaks is true. A page may then have fewer items than Limit, or none, and
	// another one after it.
	Search       string
	RoundAfterMs int64 // set by the Gate: the round ends after that time
}

// Page is one page of a listing.
type Page struct {
	Items []approval.Approval
	Next  string // empty: this was the last
	// Of a search: how many it looked through for this page, and when the last of them was asked for.
	Looked int
	BackMs int64
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
