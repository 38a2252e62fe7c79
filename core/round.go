package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/assertion"
	"approvalbot/internal/display"
)

// RetryRound is the vote on whether an approved call runs once more: the votes, and the
// rule, class and policy that they count under.
type RetryRound struct {
	By            string     `json:"by"`                      // who opened it: "person:alice"
	WithoutResult bool       `json:"withoutResult,omitempty"` // although no result says that the run before has ended
	OpenedAtMs    int64      `json:"openedAtMs"`
	ExpiresAtMs   int64      `json:"expiresAtMs"` // from then on it is as if there were none
	Rule          Rule       `json:"rule"`
	Assessment    Assessment `json:"assessment"`
	PolicyHash    string     `json:"policyHash"`
	Votes         []Vote     `json:"votes,omitempty"`
}

// Retried is one more run that people let an approved call have, and the run before it.
type Retried struct {
	By            []string `json:"by"` // as in DecidedBy
	AtMs          int64    `json:"atMs"`
	WithoutResult bool     `json:"withoutResult,omitempty"`
	Before        Run      `json:"before"`
}

// Run is a call that was handed out, or was to be.
type Run struct {
	By          []string `json:"by,omitempty"` // who let it run, as in DecidedBy
	ClaimID     string   `json:"claimId,omitempty"`
	ClaimedAs   string   `json:"claimedAs,omitempty"`   // as in Approval
	ClaimedAtMs int64    `json:"claimedAtMs,omitempty"` // 0: it was never claimed
	Result      *Result  `json:"result,omitempty"`
}

func (r Run) ranWell() bool { return r.Result != nil && r.Result.Status == "succeeded" }

// ranWell reports whether any run was reported as succeeded.
func (a Approval) ranWell() bool {
	earlier := slices.ContainsFunc(a.RetriedBy, func(r Retried) bool { return r.Before.ranWell() })
	return earlier || Run{Result: a.Result}.ranWell()
}

// Overtaken reports whether a retry waits to be claimed although an earlier run was
// reported as succeeded since: those who said retry believed that it had failed.
func (a Approval) Overtaken() bool { return a.ClaimedAtMs == 0 && a.ranWell() }

// earlierRun gives the index in RetriedBy of the claimed run of that name; -1: there is none.
func (a Approval) earlierRun(claimID string) int {
	return slices.IndexFunc(a.RetriedBy, func(r Retried) bool {
		return claimID != "" && r.Before.ClaimedAtMs != 0 && r.Before.ClaimID == claimID
	})
}

// openRound gives the round that is open at that moment, or nil.
func (a Approval) openRound(now int64) *RetryRound {
	r := a.Round
	if r == nil || now >= r.ExpiresAtMs || a.Status != Approved || a.RevokedAtMs != 0 || a.ranWell() {
		return nil
	}
	return r
}

// RoundEndsMs is until when the round is open that was opened last and is not settled; 0: none.
func (a Approval) RoundEndsMs() int64 {
	if a.Round == nil {
		return 0
	}
	return a.Round.ExpiresAtMs
}

// roundAnswers refuses an allow in an open round: it was said to another question.
func (a Approval) roundAnswers(r RetryRound, d *Directory) *Error {
	return Refuse(CodeAlreadyResolved, "%s was allowed before and is not allowed again by this; a retry of it is open (%s): "+
		"vote with retry %[1]s or deny %[1]s.", a.Code, a.again(r).tally(d).roundText())
}

// newRound is a round without a person's vote. It counts under the rule that the call was
// asked under, but that a person must say yes, and nothing stands for the approvers.
func (a Approval) newRound(by string, withoutResult bool, j Judgement, rules *Rules, now int64) *RetryRound {
	rule := a.Rule
	if !rule.AsksApprovers() {
		rule = rule.instead("")
	}
	rule.MinApprovals, rule.Unclamped, rule.RequiresHuman = max(1, rule.MinApprovals, rule.Unclamped), 0, true
	disabled := slices.Contains(rule.Disabled, UserRequest) || slices.Contains(j.Rule.Disabled, UserRequest)
	if !rule.Admits(UserRequest) && !disabled {
		rule.Effective = append(slices.Clone(rule.Effective), UserRequest)
	}
	votes := slices.DeleteFunc(withVoteTimes(slices.Clone(j.Votes), now), func(v Vote) bool { return !byRules(v) })
	return &RetryRound{By: by, WithoutResult: withoutResult, OpenedAtMs: now, ExpiresAtMs: now + rules.TimeoutMs,
		Rule: rule, Assessment: a.Assessment, PolicyHash: a.PolicyHash, Votes: votes}
}

// of is the round as a view of it stands now.
func (r RetryRound) of(view Approval) *RetryRound {
	r.Rule, r.Assessment, r.PolicyHash, r.Votes = view.Rule, view.Assessment, view.PolicyHash, view.Votes
	return &r
}

// again is the approved call as if it were asked now, with the votes of its round: a view,
// for the rules of pending approvals. It is never stored.
func (a Approval) again(r RetryRound) Approval {
	a.Status, a.Decision, a.DecidedBy, a.Reason = Pending, "", nil, ""
	a.Rule, a.Assessment, a.PolicyHash, a.Votes = r.Rule, r.Assessment, r.PolicyHash, slices.Clone(r.Votes)
	a.Offers, a.ExpiresAtMs, a.Unreached, a.Retrying = []Decision{Retry, Deny}, r.ExpiresAtMs, false, true
	return a
}

// judgedForRound is the view under the policy of today, which only tightens; see [Approval.rejudged].
func (a Approval) judgedForRound(j *Judgement, rules *Rules, now int64) Approval {
	offers := a.Offers
	a.Offers = nil // policy offers no retry, and takes none away
	a, _ = a.rejudged(j, rules, now)
	a.Offers = offers
	return a
}

// RoundState is an open round as people read it.
type RoundState struct {
	RetryRound
	Tally Tally
}

// OpenRound gives the round that is open at that moment, as it counts under these people.
func (a Approval) OpenRound(d *Directory, now int64) (RoundState, bool) {
	r := a.openRound(now)
	if r == nil {
		return RoundState{}, false
	}
	view := a.again(*r)
	s := RoundState{*r, view.tally(d)}
	s.Votes = view.standing(d)
	return s, true
}

// DeniedRound reports whether the voter's deny ended the last round.
func (a Approval) DeniedRound(v Voter) bool { return a.RoundDenied != nil && a.RoundDenied.by(v) }

// Text says who wants it to run again, and how many have said so: "retry asked by alice,
// 1 of 2 yes (alice)".
func (s RoundState) Text() string {
	return "retry asked by " + People([]string{s.By}) + ", " + s.Tally.roundText()
}

// text says how the run before a retry ended, in the desk's words.
func (r Run) text() string {
	switch {
	case r.ClaimedAtMs == 0:
		return "never claimed"
	case r.Result == nil:
		return "no result reported"
	case r.Result.ExitCode != nil:
		return fmt.Sprintf("reported %s, exit status %d", r.Result.Status, *r.Result.ExitCode)
	}
	return "reported " + r.Result.Status
}

// lastText says how the newest run that was claimed ended, as far as it is known.
func (a Approval) lastText() string {
	runs := a.claimed()
	switch {
	case len(runs) == 0:
		return a.run().text()
	case runs[len(runs)-1].Result != nil && a.mayRunOn():
		return runs[len(runs)-1].text() + ", perhaps of an earlier run"
	}
	return runs[len(runs)-1].text()
}

// allowedBy names whose yes the approval is, as in DecidedBy, whoever let it run again since.
func (a Approval) allowedBy() []string {
	if len(a.RetriedBy) > 0 {
		return a.RetriedBy[0].Before.By
	}
	return a.DecidedBy
}

// lastClaimed gives the index in RetriedBy of the newest run that was claimed there; -1: none was.
func (a Approval) lastClaimed() int {
	for i, r := range slices.Backward(a.RetriedBy) {
		if r.Before.ClaimedAtMs != 0 {
			return i
		}
	}
	return -1
}

// claimed are the runs that were, oldest first.
func (a Approval) claimed() (out []Run) {
	for _, r := range a.RetriedBy {
		out = append(out, r.Before)
	}
	return slices.DeleteFunc(append(out, a.run()), func(r Run) bool { return r.ClaimedAtMs == 0 })
}

// mayRunOn reports whether the newest run that was claimed has reported no result: one that
// does not name its run may be that of an earlier one, which has none.
func (a Approval) mayRunOn() bool {
	runs := a.claimed()
	if len(runs) == 0 {
		return false
	}
	last := runs[len(runs)-1].Result
	return last == nil ||
		last.Unnamed && slices.ContainsFunc(runs[:len(runs)-1], func(r Run) bool { return r.Result == nil })
}

// run is the newest one.
func (a Approval) run() Run {
	return Run{By: a.DecidedBy, ClaimID: a.ClaimID, ClaimedAs: a.ClaimedAs, ClaimedAtMs: a.ClaimedAtMs, Result: a.Result}
}

// runOf gives the run that a result without claimId is of: the newest that was claimed under
// the id that it is addressed by (as in ClaimedAs), else the newest that was claimed. newest: it
// is the approval's newest; else its index in RetriedBy, -1: none was claimed.
func (a Approval) runOf(as string) (newest bool, earlier int) {
	if a.ClaimedAtMs != 0 && a.ClaimedAs == as {
		return true, -1
	}
	for i, r := range slices.Backward(a.RetriedBy) {
		if r.Before.ClaimedAtMs != 0 && r.Before.ClaimedAs == as {
			return false, i
		}
	}
	return a.ClaimedAtMs != 0, a.lastClaimed()
}

// alias is an id of the approval as ClaimedAs has it.
func (a Approval) alias(id string) string {
	if id == a.ID {
		return ""
	}
	return id
}

// runs says for the details of a card how the earlier runs went, and who let it run again.
func (a Approval) runs() (out []Fact) {
	for i, r := range a.RetriedBy {
		text := "allowed by " + People(r.Before.By) + ", " + r.Before.text() + "; then retried by " + People(r.By)
		if r.Before.Result != nil && r.Before.Result.Summary != "" {
			out = append(out, Fact{Name: fmt.Sprintf("Run %d, in the asker's words", i+1),
				Value: clipped(display.Safe(r.Before.Result.Summary), maxClaim)})
		}
		out = append(out, Fact{Name: fmt.Sprintf("Run %d", i+1), Value: clipped(display.Safe(text), maxFact), Own: true})
	}
	return out
}

// roundEveryMs is how often people hear at most of the rounds of one approval: who opens
// one after the other does not ring all the same.
const roundEveryMs = 60 * 60 * 1000

// TellsOfRound reports whether the delivery is a message of the round that was opened last: it
// was made in the same step.
func (a Approval) TellsOfRound(d Delivery) bool {
	return d.Kind == RetryAskedDelivery && a.Round != nil && d.CreatedMs == a.Round.OpenedAtMs
}

// tellsOfRun reports whether the delivery is a message of a round on one more run after the newest.
func (a Approval) tellsOfRun(d Delivery) bool {
	n := len(a.RetriedBy)
	return d.Kind == RetryAskedDelivery && (n == 0 || d.CreatedMs > a.RetriedBy[n-1].AtMs)
}

// tellOfRound says below each card that somebody wants the call to run again; in the chats
// that routing names without one; at most once an hour and run.
func (a Approval) tellOfRound(rules *Rules, now int64) (out []Delivery) {
	if slices.ContainsFunc(a.Deliveries, func(d Delivery) bool {
		return a.tellsOfRun(d) && now < d.CreatedMs+roundEveryMs
	}) {
		return nil
	}
	for _, card := range a.Deliveries {
		if card.Kind == CardDelivery && card.State != Failed && card.MessageID != "" {
			d := a.delivery(RetryAskedDelivery, card.Target, now)
			d.ReplyTo = card.MessageID
			direct, _ := card.Target.direct() // of a group nobody
			d.Silent = a.quiet(rules.People.byAccount[direct], rules, now)
			out = append(out, d)
		}
	}
	a.Rule = a.Round.Rule
	routes := rules.Router.Route(a)
	for _, t := range slices.Concat(routes.Verifier, routes.Targets) {
		if !slices.ContainsFunc(out, func(d Delivery) bool { return d.Target.Normal() == t.Normal() }) {
			out = append(out, a.delivery(RetryAskedDelivery, t.Normal(), now))
		}
	}
	return out
}

// maxRoundText bounds a round's message that shows the whole call, in characters: on the
// narrowest platform 2,000 hold it with each of them escaped.
const maxRoundText = 900

// drawRound is what the message says that an open round is told with: the whole call, if it
// fits, so that a vote may come from there. payload is that call.
func (a Approval) drawRound(of Delivery, payload []Fact, d *Directory, site assertion.Site, now int64) Drawing {
	round, open := a.OpenRound(d, now)
	if !open || !a.tellsOfRun(of) {
		return Drawing{Skip: "the retry was decided, or its time is over"}
	}
	until := timeText(round.ExpiresAtMs, time.Local)
	lines := []string{fmt.Sprintf("🔁 %s: %s asks to run it again (%s). %s, until %s.", a.Code, People([]string{round.By}),
		a.lastText(), round.Tally.roundText(), until)}
	way := "approvalbot retry " + a.Code
	if site.ID != "" {
		way = site.Link("/a/"+a.Code) + " or with: " + way
	}
	out := Drawing{Times: Times{until: round.ExpiresAtMs}, Done: true}
	if whole := a.wholeRound(append(slices.Clone(lines), "Vote here with: retry "+a.Code+", or: deny "+a.Code,
		"Elsewhere: "+way), payload); whole != "" && !round.Rule.StepUp && a.TellsOfRound(of) {
		out.Text, out.Shown = whole, true
		return out
	}
	lines = append(lines, "Vote on it: "+way, "Against it: deny "+a.Code, "What: "+a.Headline())
	out.Text = strings.Join(lines, "\n")
	return out
}

// wholeRound is the message with the whole call in it; empty: it does not fit, or is not known.
func (a Approval) wholeRound(lines []string, payload []Fact) string {
	asked := a.askersText(payload)
	if len(payload) == 0 || display.Hides(asked) || len(display.Lookalikes(asked, 1)) > 0 {
		return "" // of which a card would warn
	}
	lines = append(lines, "Risk: "+a.riskText(), "It would run "+display.Escape(a.ToolName)+":")
	for _, f := range payload {
		lines = append(lines, f.Label(a.ToolName)+":")
		for line := range strings.SplitSeq(f.Value, "\n") {
			lines = append(lines, display.Bar+line)
		}
	}
	text := strings.Join(lines, "\n")
	if charCount(text) > maxRoundText {
		return ""
	}
	return text
}

// RetryOffer is what a person may do about one more run of an approved call.
type RetryOffer struct {
	May           bool   // their "retry" would count
	Sign          bool   // once a passkey signed it
	WithoutResult bool   // they must say that the run before has ended, since no result does
	Open          bool   // a round is open
	After         int    // how many retries it has so far
	Text          string // of that round: "retry asked by alice, 1 of 2 yes (alice)"
	UntilMs       int64
}

// RetryOffer says what the session's person may do about one more run, as their vote
// would be answered now.
func (g *Gate) RetryOffer(ctx context.Context, s Session, a Approval) (o RetryOffer, err error) {
	rules, err := g.inForce()
	if err != nil || a.Status != Approved {
		return o, nil //nolint:nilerr // under rules that do not count nothing is offered
	}
	t, err := g.today(ctx, a.Key, rules)
	if err != nil {
		return o, err
	}
	now := time.Now()
	o.After = len(a.RetriedBy)
	asOf := rules.at(now)
	round, open := a.OpenRound(asOf.People, now.UnixMilli())
	if open {
		o.Open, o.Text, o.UntilMs = true, round.Text(), round.ExpiresAtMs
	}
	o.WithoutResult = !open && a.mayRunOn()
	b := Ballot{Voter: s.Voter(), Decision: Retry, Opens: true, WithoutResult: o.WithoutResult, After: &o.After}
	c, no := a.voteAgain(b, t, &asOf, now.UnixMilli())
	o.Sign = c.Refusal != nil && c.Refusal.Code == CodeStepUpRequired
	voted := slices.ContainsFunc(round.Votes, func(v Vote) bool { return v.by(asOf.People.Identify(b.Voter)) })
	o.May = no == nil && (c.Refusal == nil || o.Sign) && !voted
	return o, nil
}
