package core

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"approvalbot/internal/fault"
)

// Caller is an authenticated API token. What it may do comes from the
// configuration, never from what a client claims.
type Caller struct {
	Token        string // its name: the owner of what it asks
	Person       string // who stands behind it, or empty
	AgentID      string // forced on every call it asks, if set
	SessionChats []Target
	MaxPending   int // 0: no limit
	// RequireRequester: what it asks must say which human asked the agent.
	RequireRequester bool
	Callbacks        CallbackRight

	MayRequest bool // approvals.request
	MayDecide  bool // operator.approvals
	MayAudit   bool // operator.audit
	MayAdmin   bool // operator.admin
}

// Keeps reports whether a caller still is what it was before: the same owner and
// agent, with every scope that it had then.
func (who Caller) Keeps(before Caller) bool {
	lost := false
	for _, scope := range [][2]bool{
		{before.MayRequest, who.MayRequest}, {before.MayDecide, who.MayDecide},
		{before.MayAudit, who.MayAudit}, {before.MayAdmin, who.MayAdmin},
	} {
		lost = lost || scope[0] && !scope[1]
	}
	return !lost && who.Token == before.Token && who.AgentID == before.AgentID
}

// CallbackRight says whether, and how, a token's approvals may be called back.
type CallbackRight int

// The rights. Callbacks are signed, so a token without a secret has none.
const (
	NoCallbacks     CallbackRight = iota
	SecureCallbacks               // https only
	AnyCallbacks                  // http too: not in production
)

// Rules is what the operator configured, as one immutable snapshot.
type Rules struct {
	Enabled      bool
	Policy       Policy
	People       *Directory
	Router       Router
	Classifier   Classifier // nil: none
	Verifier     Verifier   // nil: none
	Solo         bool       // selfApproval: solo
	Clamp        bool       // clampMinApprovals
	TimeoutMs    int64      // default life of a pending approval
	MaxTimeoutMs int64
	// RetryWindowMs is how long an approved call is kept for a retry after its last
	// use, see Approval.KeptSinceMs; 0: for as long as its approval.
	RetryWindowMs int64
}

// Gate is the one door to every step of an approval. Who is calling is an
// argument of each method; authority is checked here, and what is refused is on
// record. Safe for concurrent use.
type Gate struct {
	store Store
	rules atomic.Pointer[Rules]
	log   *slog.Logger
	waits waitlist
	shown drawn
	after []func(Change)
}

// NewGate makes a Gate. after is called for every committed change, in the
// caller's goroutine, and must be quick: it wakes the dispatcher and counts.
func NewGate(store Store, rules Rules, log *slog.Logger, after ...func(Change)) *Gate {
	g := &Gate{store: store, log: log, after: after, waits: waitlist{m: map[string]*waiter{}}}
	g.rules.Store(&rules)
	return g
}

// Use makes another snapshot of the rules count from now on.
func (g *Gate) Use(rules Rules) { g.rules.Store(&rules) }

// PolicyHash names the policy in force.
func (g *Gate) PolicyHash() string { return g.rules.Load().Policy.Hash() }

// Rules gives the snapshot in force.
func (g *Gate) Rules() Rules { return *g.rules.Load() }

// inForce gives the rules to judge by, or CodeUnavailable as long as others count
// for those who share the store: whatever judges a call, counts a yes or hands a
// call out begins here, and its Change names the Policy, so that the answer still
// holds when it is committed. What only takes away, reports or reads needs neither.
func (g *Gate) inForce() (*Rules, error) {
	rules := g.rules.Load()
	return rules, g.store.Agreed(rules.Policy.Hash())
}

// Vote counts one person's ballot on the approval of that key. The approval is
// as it stands after the ballot. A refused ballot (not_an_approver,
// self_approval, decision_not_offered, unseen_payload, already_resolved) is on
// record and comes with the approval, so that the voter can be told how it ended.
// Under rules that do not count only a deny does.
func (g *Gate) Vote(ctx context.Context, key string, b Ballot) (Approval, error) {
	adopted, err := g.adopt(ctx, key, b)
	if err != nil {
		return Approval{}, err
	}
	fault.Point("before-vote-committed")
	defer fault.Point("after-vote-committed")
	rules, stray := g.inForce()
	var fresh *Judgement
	otherRules := false // it must be judged anew before a vote on it counts
	vote := func(a Approval) (Change, error) {
		if b.Code != "" && b.Code != a.Code {
			return Change{}, notFound()
		}
		open, allows := !a.Final(), b.Decision != Deny
		switch {
		case open && allows && stray != nil:
			return Change{}, stray
		case open && stray == nil && fresh == nil && a.PolicyHash != rules.Policy.Hash():
			otherRules = true
			return Change{Approval: a, Unchanged: true}, nil
		}
		otherRules = false
		c := a.vote(b, adopted, fresh, rules, nowMs())
		if open && allows {
			c.Policy = rules.Policy.Hash()
		}
		return c, nil
	}
	a, err := g.update(ctx, key, vote)
	if err != nil || !otherRules {
		return a, err
	}
	if fresh, err = g.judgeAgain(ctx, key, rules); err != nil {
		return Approval{}, err
	}
	if a, err = g.update(ctx, key, vote); err == nil && otherRules {
		return a, rulesChanged()
	}
	return a, err
}

// rulesChanged refuses whatever came while the rules changed more than once.
func rulesChanged() *Error { return refuse(CodeUnavailable, "The rules have changed; try again.") }

// judgeAgain asks policy anew about a pending approval that was judged under
// other rules (the desk was started again with another configuration). Nil:
// the rules are the same, or nothing is left to judge.
func (g *Gate) judgeAgain(ctx context.Context, key string, rules *Rules) (*Judgement, error) {
	a, err := g.store.Get(ctx, key)
	if err != nil || a.Final() || a.PolicyHash == rules.Policy.Hash() {
		return nil, err
	}
	call, err := g.sealed(ctx, a)
	if err != nil {
		return nil, err
	}
	j := rules.judge(ctx, call)
	return &j, nil
}

// adopt makes the delivery for a tapped card whose id was lost in a crash or a
// cut connection. It holds only in a chat that was to get a card of that
// approval. Since allows are on a card only after everything that would run was
// delivered there, the card counts as shown exactly when its chat has all of it.
func (g *Gate) adopt(ctx context.Context, key string, b Ballot) ([]Delivery, error) {
	if b.Card == "" || b.Chat == nil {
		return nil, nil
	}
	a, err := g.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	card := Delivery{}
	for _, d := range a.Deliveries {
		if d.Kind == CardDelivery && d.Target.Chat() == b.Chat.Normal().Chat() {
			card.Attached = card.Attached || d.Attached
			card.DenyOnly = card.DenyOnly || d.MessageID != "" && !d.Shown
			card.Key = a.Key
		}
	}
	if card.Key == "" {
		return nil, refuse(CodeNotFound, "This button is not known here.")
	}
	facts, err := g.Payload(ctx, a)
	if err != nil {
		return nil, err
	}
	now := nowMs()
	attached, hidden := card.Attached, card.DenyOnly
	card = a.delivery(CardDelivery, b.Chat.Normal(), now)
	card.MessageID, card.State, card.Attached = b.Card, Sent, attached
	card.Shown = a.draw(card, facts, g.rules.Load().People).Shown && !hidden // where another copy could not show it, neither can this one
	return []Delivery{card}, nil
}

// VoteAs is Vote for an API token's person. The whole call is in every answer
// that such a token gets, so its vote counts as seen.
func (g *Gate) VoteAs(ctx context.Context, who Caller, ref string, d Decision, reason string) (Approval, error) {
	if !who.MayDecide || who.Person == "" {
		return Approval{}, refuse(CodeForbidden, "This token may not decide: it needs the scope operator.approvals and a person.")
	}
	key, err := g.Resolve(ctx, who, ref)
	if err != nil {
		return Approval{}, err
	}
	if d != Deny && !d.Allows() {
		return Approval{}, Invalid(FieldError{"decision", "must be allow-once, allow-session, allow-always or deny"})
	}
	return g.Vote(ctx, key, Ballot{
		Voter: Voter{Channel: "api", UserID: who.Token}, Decision: d, Reason: reason, ReceivedMs: nowMs(),
	})
}

// Withdraw ends a pending approval for its owner; doing it again is fine.
func (g *Gate) Withdraw(ctx context.Context, who Caller, id, reason string) (Approval, error) {
	key, err := g.own(ctx, who, id)
	if err != nil {
		return Approval{}, err
	}
	return g.update(ctx, key, func(a Approval) (Change, error) {
		switch {
		case a.Status == Withdrawn:
			return Change{Approval: a, Unchanged: true}, nil
		case a.Final():
			return Change{}, a.ended()
		}
		return a.withdraw("token:"+who.Token, reason, nowMs()), nil
	})
}

// Claimed is an approved call, handed out: the very bytes that were approved.
type Claimed struct {
	Approval Approval
	ToolName string
	Params   []byte // canonical JSON
}

// Claim hands an approved call to its owner, once and in time. Policy is asked
// again with the stored call: what it now denies is not handed out.
func (g *Gate) Claim(ctx context.Context, who Caller, id string, in ClaimInput) (Claimed, error) {
	if len(in.ClaimID) > 128 {
		return Claimed{}, Invalid(FieldError{"claimId", "must be at most 128 bytes"})
	}
	rules, err := g.inForce()
	if err != nil {
		return Claimed{}, err
	}
	key, err := g.own(ctx, who, id)
	if err != nil {
		return Claimed{}, err
	}
	a, err := g.store.Get(ctx, key)
	if err != nil {
		return Claimed{}, err
	}
	call, errSealed := g.kept(ctx, a, rules)
	denies := ""
	if errSealed == nil {
		denies = g.rejudge(ctx, a, call, rules)
	}
	fault.Point("before-claim-committed")
	defer fault.Point("after-claim-committed")
	a, err = g.update(ctx, key, func(a Approval) (Change, error) {
		c, err := a.claim(in, call, denies, nowMs())
		c.Policy = rules.Policy.Hash()
		if err == nil && errSealed != nil {
			return Change{}, errSealed
		}
		return c, err
	})
	if err != nil {
		return Claimed{}, err
	}
	return Claimed{Approval: a, ToolName: call.ToolName, Params: call.Params}, nil
}

// kept gives the call that was sealed for the approval, or CodeRetryDataGone when it was
// deleted, or is to be.
func (g *Gate) kept(ctx context.Context, a Approval, rules *Rules) (Call, error) {
	if a.callGone(rules, nowMs()) {
		return Call{}, retryDataGone()
	}
	return g.sealed(ctx, a)
}

// sealed gives the call that was sealed for the approval.
func (g *Gate) sealed(ctx context.Context, a Approval) (Call, error) {
	form, err := g.store.Sealed(ctx, a.Key)
	if err != nil {
		return Call{}, err
	}
	tool, params, bind, err := Open(form)
	return a.asCall(tool, params, bind), err
}

// rejudge asks policy about a stored call again and gives its reason to refuse.
func (g *Gate) rejudge(ctx context.Context, a Approval, call Call, rules *Rules) string {
	if !rules.Enabled {
		return "approvals are disabled"
	}
	var err error
	granted := false
	var found Existing
	if len(a.DecidedBy) > 0 { // a grant stands first
		var id string
		if id, granted = strings.CutPrefix(a.DecidedBy[0], "grant:"); granted {
			if found.Grants, err = g.store.Grants(ctx, GrantFilter{ID: id}); err != nil || len(found.Grants) == 0 {
				return "the grant that allowed it was ended"
			}
			if a.today(rules).gaveOwn(found.Grants[0].By, rules.People) { // they joined while the verifier's people were asked
				return "whoever gave the grant that allowed it stands behind the call"
			}
		}
	}
	j := rules.judge(ctx, call)
	why, denied := j.denies(granted)
	switch {
	case denied && why == "":
		return "it denies it without a reason"
	case !denied && a.PolicyHash != rules.Policy.Hash() && !a.approversVoted() && !a.settledToday(call, j, found, rules):
		return "people must be asked for it now, and nobody was; ask again"
	}
	return why
}

// settledToday reports whether what no person decided would run today without one:
// other rules have allowed it, and those of today ask no less of it.
func (a Approval) settledToday(call Call, j Judgement, f Existing, rules *Rules) bool {
	now := nowMs()
	a.Status, a.Assessment, a.Rule, a.Subject = Pending, j.Assessment, j.Rule, j.subject(call)
	a.Offers = grantable(j, call, a.Subject)
	a.Votes = stamped(j.Votes, now)
	a = a.judged(j, rules).byGrant(f, j.GrantScope, rules.People, now)
	return a.Status == Approved || a.Unreached && j.Unreached == OutcomeAllow ||
		a.Status == Pending && a.tally(rules.People).Outcome == Approved
}

// approversVoted reports whether people settled it who may say yes to such a call: the
// verifier's own are none of them, and one yes of several is no quorum where it ran since
// nobody could be asked.
func (a Approval) approversVoted() bool {
	return a.Rule.AsksApprovers() && slices.ContainsFunc(a.Votes, byPeople) && !slices.Contains(a.DecidedBy, "policy")
}

func byPeople(v Vote) bool { return v.Approver == UserRequest }

// asCall is the call that an approval stands for.
func (a Approval) asCall(tool string, params []byte, bind *Bind) Call {
	return Call{ToolName: tool, Params: params, Bind: bind, AgentID: a.AgentID, TokensAgent: a.TokensAgent, SessionKey: a.SessionKey,
		Origin: a.Origin, Requester: a.Requester, Context: a.Context, Dialect: a.Dialect, Owner: a.Owner}
}

// Revoke takes an approved, unclaimed approval back.
func (g *Gate) Revoke(ctx context.Context, who Caller, ref, reason string) (Approval, error) {
	if !who.MayDecide {
		return Approval{}, refuse(CodeForbidden, "This token may not revoke: it needs the scope operator.approvals.")
	}
	key, err := g.Resolve(ctx, who, ref)
	if err != nil {
		return Approval{}, err
	}
	by := "token:" + who.Token
	if who.Person != "" {
		by = "person:" + who.Person
	}
	return g.update(ctx, key, func(a Approval) (Change, error) { return a.revoke(by, reason, nowMs()) })
}

// Retry makes an approved call claimable again for its owner, and tells it. The
// call itself is never in the answer. CodeRetryDataGone when it was deleted, or its
// time for that is over, and
// CodeSelfApproval for the token, or the person, that asked.
func (g *Gate) Retry(ctx context.Context, who Caller, ref string) (Approval, error) {
	if !who.MayDecide {
		return Approval{}, refuse(CodeForbidden, "This token may not retry: it needs the scope operator.approvals.")
	}
	rules, err := g.inForce()
	if err != nil {
		return Approval{}, err
	}
	key, err := g.Resolve(ctx, who, ref)
	if err != nil {
		return Approval{}, err
	}
	a, err := g.store.Get(ctx, key)
	if err != nil {
		return a, err
	}
	call, errSealed := g.kept(ctx, a, rules)
	if errSealed != nil && CodeOf(errSealed) != CodeRetryDataGone {
		return a, errSealed
	}
	denies := ""
	if errSealed == nil {
		denies = g.rejudge(ctx, a, call, rules)
	}
	fault.Point("before-retry-committed")
	defer fault.Point("after-retry-committed")
	return g.update(ctx, key, func(a Approval) (Change, error) {
		by := "token:" + who.Token
		if who.Person != "" {
			by = "person:" + who.Person
		}
		if a.mayNotRetry(who, rules) {
			return Change{Approval: a, Unchanged: true, Refusal: refuse(CodeSelfApproval, "You cannot make your own request run again."),
				Events: []Event{a.event(EventRefused, nowMs(), eventData{By: by, Why: string(CodeSelfApproval)})}}, nil
		}
		now := nowMs()
		c, err := a.retry(by, errSealed == nil && !a.callGone(rules, now), denies, now)
		c.Policy = rules.Policy.Hash()
		return c, err
	})
}

// Rejudge asks policy anew about every pending approval, after other rules were
// put in force: a stricter policy denies at once, a looser one changes nothing. The
// cards of those that somebody has voted on are drawn again, since a reload may take
// a voter's authority.
func (g *Gate) Rejudge(ctx context.Context) error {
	f := Filter{Status: Pending, Limit: 200}
	for {
		page, err := g.store.List(ctx, f)
		if err != nil {
			return err
		}
		for _, a := range page.Items {
			err := g.rejudgeOne(ctx, a.Key)
			if err == nil && slices.ContainsFunc(a.Votes, byPeople) { // other people may count now
				err = g.Redraw(ctx, a.Key)
			}
			if err != nil && CodeOf(err) != CodeRetryDataGone && CodeOf(err) != CodeNotFound {
				return err
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return nil
		}
	}
}

func (g *Gate) rejudgeOne(ctx context.Context, key string) error {
	rules, err := g.inForce()
	if err != nil {
		return err
	}
	fresh, err := g.judgeAgain(ctx, key, rules)
	if err != nil || fresh == nil {
		return err
	}
	_, err = g.update(ctx, key, func(a Approval) (Change, error) {
		c := a.judgedAgain(fresh, rules, nowMs())
		c.Policy = rules.Policy.Hash()
		return c, nil
	})
	return err
}

// Announce puts a change of the policy on record.
func (g *Gate) Announce(ctx context.Context, by, hash string, looser []string) error {
	data, err := json.Marshal(map[string]any{"policyHash": hash, "by": by, "looser": looser})
	if err != nil {
		return err
	}
	return g.store.Append(ctx, nil, Event{AtMs: nowMs(), Type: EventPolicy, Data: data})
}

// Report stores the owner's word on how the execution went, once, after the claim.
func (g *Gate) Report(ctx context.Context, who Caller, id string, r Result) (Approval, error) {
	if r.Status != "succeeded" && r.Status != "failed" {
		return Approval{}, Invalid(FieldError{"status", "must be succeeded or failed"})
	}
	key, err := g.own(ctx, who, id)
	if err != nil {
		return Approval{}, err
	}
	fault.Point("before-result-committed")
	defer fault.Point("after-result-committed")
	return g.update(ctx, key, func(a Approval) (Change, error) { return a.report(r, nowMs()) })
}

// AddReason attaches a reason to the deny that this voter gave before.
func (g *Gate) AddReason(ctx context.Context, key string, v Voter, reason string, handled *InboundRef) (Approval, error) {
	return g.update(ctx, key, func(a Approval) (Change, error) {
		c, err := a.addReason(g.rules.Load().People.Identify(v), reason, nowMs())
		c.Handled = handled
		return c, err
	})
}

// Tick does what time asks of one approval: expiry, fallback targets, the word
// that nobody could be asked.
func (g *Gate) Tick(ctx context.Context, key string) error {
	var silent map[Target]Unreachable
	var who, otherRules bool // is to be known first: who is silent, what the rules of today say
	tick := func(a Approval) (c Change, err error) {
		rules := g.rules.Load()
		c, who = a.tick(rules.Router.Route(a), silent, nowMs())
		unasked := c.Approval.Status == Approved && !c.Unchanged // approvals.exec.askFallback
		if otherRules = unasked && a.PolicyHash != rules.Policy.Hash(); who || otherRules {
			return Change{Approval: a, Unchanged: true}, nil
		}
		if unasked {
			c.Policy = rules.Policy.Hash()
		}
		return c, nil
	}
	for range 3 {
		_, err := g.update(ctx, key, tick)
		switch {
		case err == nil && who:
			silent, err = g.store.Unreachable(ctx)
		case err == nil && otherRules: // they may say something else, as after a restart
			err = g.rejudgeOne(ctx, key)
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
	return rulesChanged()
}

// Show posts the card of an approval into a chat where none stands yet; where one
// does, it only marks the update handled.
func (g *Gate) Show(ctx context.Context, key string, place Target, handled *InboundRef) (Approval, error) {
	return g.update(ctx, key, func(a Approval) (Change, error) {
		c := Change{Approval: a, Unchanged: true, Handled: handled}
		for _, d := range a.Deliveries {
			if d.Kind == CardDelivery && d.Target.Normal() == place.Normal() && d.State != Failed {
				return c, nil
			}
		}
		c.Unchanged = false
		c.Deliveries = []Delivery{a.delivery(CardDelivery, place.Normal(), nowMs())}
		return c, nil
	})
}

// Redraw has every card of the approval drawn again.
func (g *Gate) Redraw(ctx context.Context, key string) error {
	_, err := g.update(ctx, key, func(a Approval) (Change, error) {
		return Change{Approval: a, Unchanged: true, Redraw: true}, nil
	})
	return err
}

// AskReason posts the question for a deny's reason to one person in a chat.
func (g *Gate) AskReason(ctx context.Context, key string, place Target, replyTo, userID string) error {
	_, err := g.update(ctx, key, func(a Approval) (Change, error) {
		d := a.delivery(ReasonDelivery, place.Normal(), nowMs())
		d.ReplyTo, d.ForUser = replyTo, userID
		for _, old := range a.Deliveries {
			if old.Kind == ReasonDelivery && old.Target == d.Target && old.ForUser == userID {
				return Change{Approval: a, Unchanged: true}, nil
			}
		}
		return Change{Approval: a, Deliveries: []Delivery{d}}, nil
	})
	return err
}

// Refused puts an attempt that never reached an approval on record (a forged
// payload, a stranger's listing) and marks its platform update handled.
func (g *Gate) Refused(ctx context.Context, v Voter, what string, handled *InboundRef) error {
	a := Approval{}
	return g.store.Append(ctx, handled, a.event(EventRefused, nowMs(), eventData{Why: what, By: g.rules.Load().People.Identify(v).Name()}))
}

// Handled marks a platform update done that changed nothing.
func (g *Gate) Handled(ctx context.Context, ref InboundRef) error {
	return g.store.Append(ctx, &ref)
}

// update is the one way to change an existing approval.
func (g *Gate) update(ctx context.Context, key string, fn func(Approval) (Change, error)) (Approval, error) {
	var last Change
	a, err := g.store.Update(ctx, key, func(a Approval) (Change, error) {
		c, err := fn(a)
		last = c
		return c, err
	})
	if err != nil {
		return a, err
	}
	last.Approval = a
	g.committed(last)
	if last.Refusal != nil {
		return a, last.Refusal
	}
	return a, nil
}

func (g *Gate) committed(c Change) {
	g.tell(c)
	if !c.Unchanged {
		g.waits.wake(c.Approval.Key, &c.Approval) // last: whoever is woken last goes on first
	}
}

// tell tells the others of a commit. Nobody waits for a new approval but who has
// asked, and knows.
func (g *Gate) tell(c Change) {
	for _, f := range g.after {
		f(c)
	}
}

func nowMs() int64 { return time.Now().UnixMilli() }
