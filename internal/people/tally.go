package people

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/platform"
)

// Tally is the state of a vote: the rule applied to the votes so far. It has two
// needs, each met by itself: the approvers', and the verifier's.
type Tally struct {
	Outcome  approval.Status   // Pending, Approved or Denied
	Decision approval.Decision // when settled
	Reason   string            // the reject's reason, or the last one given with a yes

	By      []string // approvers whose yes counts; for a deny, the one who gave it
	Seats   int      // how many seats they fill; a delegate shares one with the absent person
	Need    int      // how many of them are needed; 0 if policy or a grant replaces them
	Missing []string // whose yes is needed beside that: "1 with role ops"
	Enough  bool     // the approvers' need is met

	Verifier     []string // the verifier's people whose yes counts
	NeedVerifier int      // how many of them are needed

	notes map[string]string // for each of By: in whose place, and sharing a seat with whom
}

// Count applies the rule to the votes. weigh says toward which needs a vote counts, by
// its voter's present authority. One reject ends it. Each person counts once, automatic
// factors once each. The approvers' need is met by MinApprovals of them, at least one of
// them a person if a human is required. For each role that the rule names, so many of
// them must have it, which meets decides. The narrowest scope that they voted wins. Votes
// that share a seat (With) fill one, and a seat is one person's yes: its voter's, or that
// of a person in whose place it may be counted. The verifier's need is met by one of its
// people, whose scope is ignored.
func Count(r approval.Rule, votes []approval.Vote, weigh func(approval.Vote) Weight, meets meets) Tally {
	t := Tally{Outcome: approval.Pending}
	if r.AsksApprovers() {
		t.Need = max(1, r.MinApprovals)
	}
	if r.AsksVerifier() {
		t.NeedVerifier = 1
	}
	c := approvals{}
	for _, v := range votes {
		name, w := approverName(v), weigh(v)
		admitted := r.Admits(v.Approver)
		w.Approvers = w.Approvers && admitted
		heard := admitted || w.Verifier
		switch {
		case v.Verdict == approval.Reject && w.Deny && heard:
			return Tally{Outcome: approval.Denied, Decision: approval.Deny, By: []string{name}, Need: t.Need, Reason: v.Reason}
		case v.Verdict != approval.Approve || !w.Approvers && !w.Verifier:
			continue
		}
		t.Reason = cmp.Or(v.Reason, t.Reason)
		if w.Verifier && t.NeedVerifier > 0 && !slices.Contains(t.Verifier, name) {
			t.Verifier = append(t.Verifier, name)
		}
		if w.Approvers && !slices.Contains(t.By, name) {
			t.By = append(t.By, name)
			t.note(v, name)
			c.add(r, v, meets)
		}
	}
	t.Seats = len(c.seats)
	if t.Need > 0 {
		t.Missing = missing(r, fill(r.Needs, c.seats))
	}
	enough := t.Seats >= t.Need && len(t.Missing) == 0
	quorum := enough && (c.human || !r.RequiresHuman)
	t.Enough = quorum || t.Need == 0
	if t.Enough && len(t.Verifier) >= t.NeedVerifier {
		t.Outcome, t.Decision = approval.Approved, cmp.Or(c.scope, approval.AllowOnce)
	}
	return t
}

// meets says whether a yes meets a need: as the voter's own, or in the place of
// another person.
type meets func(n approval.Need, v approval.Vote, instead string) bool

// approvals are the approvers' yes so far.
type approvals struct {
	human bool
	seats []seat
	of    map[string]int    // the seat that a person fills
	scope approval.Decision // the narrowest that people voted; empty if no person has
}

func (c *approvals) add(r approval.Rule, v approval.Vote, meets meets) {
	if v.Approver != approval.UserRequest {
		c.seats = append(c.seats, seat{})
		return
	}
	c.human = true
	i, shared := c.of[v.With]
	if v.With == "" || !shared {
		i, c.seats = len(c.seats), append(c.seats, seat{})
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	if v.Voter.Person != "" {
		c.of[v.Voter.Person] = i
	}
	c.seats[i].choices = append(c.seats[i].choices, choices(v, r.Needs, meets)...)
	if c.scope == "" || v.Decision.Narrowness() > c.scope.Narrowness() {
		c.scope = v.Decision
	}
}

// choices are the needs that a yes meets as the voter's own, and then as that of each in
// whose stead it may be taken.
func choices(v approval.Vote, needs []approval.Need, meets meets) [][]bool {
	out := make([][]bool, 1+len(v.For))
	for i, instead := range append([]string{""}, v.For...) {
		for _, n := range needs {
			out[i] = append(out[i], meets(n, v, instead))
		}
	}
	return out
}

// missing says how many of each role have not said yes.
func missing(r approval.Rule, groups []int) (out []string) {
	for i, n := range r.Needs {
		if missing := n.Min - groups[i]; missing > 0 {
			out = append(out, Text(n, missing))
		}
	}
	return out
}

// Deciders names whose votes settled it, of both needs.
func (t Tally) Deciders() []string {
	out := slices.Clone(t.By)
	for _, name := range t.Verifier {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Text is the tally for a card: "1 of 2 yes (alice)"; if the verifier's people are asked
// too, it names each need: "approvers: 1 of 2 yes (alice); verifier's people: 0 of 1
// yes". It is empty if no vote was cast and a single yes settles it.
func (t Tally) Text() string {
	approvers := t.approverText()
	if t.NeedVerifier == 0 {
		if len(t.By) == 0 && t.Need <= 1 && len(t.Missing) == 0 {
			return ""
		}
		return approvers
	}
	verifier := "verifier's people: " + ofNeed(t.Verifier, len(t.Verifier), t.NeedVerifier, nil)
	if t.Need == 0 {
		return verifier
	}
	return "approvers: " + approvers + "; " + verifier
}

// RoundText is Text, and never empty.
func (t Tally) RoundText() string { return cmp.Or(t.Text(), t.approverText()) }

func (t Tally) approverText() string {
	s := ofNeed(t.By, t.Seats, t.Need, t.notes)
	if len(t.Missing) > 0 {
		s += "; needs " + strings.Join(t.Missing, " and ")
	}
	return s
}

func ofNeed(names []string, seats, need int, notes map[string]string) string {
	s := fmt.Sprintf("%d of %d yes", seats, need)
	for i, name := range names {
		s += []string{" (", ", "}[min(i, 1)] + People([]string{name}) + notes[name]
	}
	if len(names) > 0 {
		s += ")"
	}
	return s
}

// note keeps what is to be said of a yes beside its name: "bob for alice".
func (t *Tally) note(v approval.Vote, name string) {
	text := ""
	if len(v.For) > 0 && !slices.Contains(v.For, v.With) {
		text = " for " + strings.Join(v.For, " or ")
	}
	if v.With != "" {
		text += " with " + v.With
	}
	if t.notes == nil && text != "" {
		t.notes = map[string]string{}
	}
	if text != "" {
		t.notes[name] = text
	}
}

func Text(n approval.Need, missing int) string {
	if roster, duty := DutyRole(n.Role); duty {
		return fmt.Sprintf("%d on duty (%s)", missing, roster)
	}
	return fmt.Sprintf("%d with role %s", missing, n.Role)
}

// People writes voter names for people: "alice, telegram user 111, token ops, policy".
func People(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		channel, id, isAccount := strings.Cut(n, ":")
		switch {
		case channel == "person":
			out[i] = id
		case isAccount && platform.ByName(channel) != nil:
			out[i] = channel + " user " + id
		case isAccount && channel == "token":
			out[i] = "token " + id
		default:
			out[i] = n
		}
	}
	return strings.Join(out, ", ")
}

func approverName(v approval.Vote) string {
	if v.Approver == approval.UserRequest && v.Voter != nil {
		return v.Voter.Name()
	}
	return string(v.Approver)
}

// WithoutNeedlessApprovers removes the approvers' need if a rule's yes already meets it:
// then only the verifier's people are asked. Votes of people never remove it, since they
// count by the authority that the voters have at the settlement.
func WithoutNeedlessApprovers(a approval.Approval, d *Directory) approval.Approval {
	automatic := a
	automatic.Votes = slices.DeleteFunc(slices.Clone(a.Votes), approval.ByPeople)
	if a.Rule.AsksVerifier() && a.Rule.AsksApprovers() && TallyOf(automatic, d).Enough {
		return OnlyVerifier(a, "policy")
	}
	return a
}

// OnlyVerifier is the approval for which only the verifier's people are asked,
// since something else replaces the approvers' yes. It can make no grant.
func OnlyVerifier(a approval.Approval, instead string) approval.Approval {
	a.Rule, a.Offers, a.Unreached = a.Rule.Instead(instead), []approval.Decision{approval.AllowOnce, approval.Deny}, false
	return a
}

// TallyOf counts the votes by present authority: a voter who has lost it, or who
// turned out to be an asker, is not counted.
func TallyOf(a approval.Approval, d *Directory) Tally {
	return Count(a.Rule, AsOf(a, d), func(v approval.Vote) Weight { return WeightNow(a, v, d) }, d.Meets)
}

// TallyText says the votes so far: "1 of 2 yes (alice)".
func TallyText(a approval.Approval, d *Directory) string { return TallyOf(a, d).Text() }
