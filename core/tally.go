package core

import (
	"fmt"
	"slices"
	"strings"
)

// Tally is the state of a vote: what the rule makes of the votes so far.
type Tally struct {
	Outcome  Status   // Pending, Approved or Denied
	Decision Decision // when settled
	By       []string // whose votes settled it, or count so far
	Need     int      // approvals that are needed
	Missing  []string // whose approval is needed beside that: "1 with role ops"
	Reason   string   // the reject's reason, or the last one that an approver gave
}

// Count applies the rule to the votes. valid says whether a vote's authority
// still stands; votes without it count for nothing. One reject ends it. Each
// person counts once, automatic factors once each; with a quorum above one only
// people whom the configuration names count; where a human is required at
// least one approval must be a person's; of each group that the rule names so
// many must be of it, which meets says. The narrowest scope voted wins.
func Count(r Rule, votes []Vote, valid func(Vote) bool, meets func(Need, Voter) bool) Tally {
	t := Tally{Outcome: Pending, Need: max(1, r.MinApprovals)}
	human := false
	groups := make([]int, len(r.Needs))
	scope := Decision("")
	for _, v := range votes {
		if !r.Admits(v.Approver) || !valid(v) {
			continue
		}
		name := approverName(v)
		switch v.Verdict {
		case Reject:
			return Tally{Outcome: Denied, Decision: Deny, By: []string{name}, Need: t.Need, Reason: v.Reason}
		case Approve:
			person := v.Approver == UserRequest
			if slices.Contains(t.By, name) {
				continue
			}
			named := false
			for i, n := range r.Needs {
				if person && meets(n, *v.Voter) {
					groups[i]++
					named = true
				}
			}
			if person && t.Need > 1 && v.Voter.Person == "" && !named {
				continue
			}
			t.By = append(t.By, name)
			human = human || person
			if v.Reason != "" {
				t.Reason = v.Reason
			}
			if person && (scope == "" || v.Decision.narrowness() > scope.narrowness()) {
				scope = v.Decision
			}
		}
	}
	for i, n := range r.Needs {
		if missing := n.Min - groups[i]; missing > 0 {
			t.Missing = append(t.Missing, n.words(missing))
		}
	}
	if len(t.By) >= t.Need && (human || !r.RequiresHuman) && len(t.Missing) == 0 {
		t.Outcome, t.Decision = Approved, AllowOnce
		if scope != "" {
			t.Decision = scope
		}
	}
	return t
}

// Words says the tally for a card: "1 of 2: alice"; empty with no vote and a
// quorum of one.
func (t Tally) Words() string {
	if len(t.By) == 0 && t.Need <= 1 && len(t.Missing) == 0 {
		return ""
	}
	s := fmt.Sprintf("%d of %d", len(t.By), t.Need)
	if len(t.By) > 0 {
		s += ": " + People(t.By)
	}
	if len(t.Missing) > 0 {
		s += "; needs " + strings.Join(t.Missing, " and ")
	}
	return s
}

func (n Need) words(missing int) string {
	if n.Role != "" {
		return fmt.Sprintf("%d with role %s", missing, n.Role)
	}
	return fmt.Sprintf("%d of the verifier's people", missing)
}

// names reports whether the rule asks for this very account, or for an account of
// the same person: it may then vote, also where it is no approver otherwise.
func (r Rule) names(v Voter, d *Directory) bool {
	return slices.ContainsFunc(r.Needs, func(n Need) bool { return n.Role == "" && d.Meets(n, v) })
}

// mergeNeeds gives the stricter of both lists.
func mergeNeeds(old, more []Need) []Need {
	out := slices.Clone(old)
	for _, n := range more {
		if (Rule{Needs: out}).weaker(Rule{Needs: []Need{n}}) {
			out = append(out, n)
		}
	}
	return out
}

// People writes voter names for people: "alice, telegram user 111, token ops, policy".
func People(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		channel, id, isAccount := strings.Cut(n, ":")
		switch {
		case channel == "person":
			out[i] = id
		case isAccount && (channel == "telegram" || channel == "discord"):
			out[i] = channel + " user " + id
		case isAccount && channel == "token":
			out[i] = "token " + id
		default:
			out[i] = n
		}
	}
	return strings.Join(out, ", ")
}

func approverName(v Vote) string {
	if v.Approver == UserRequest && v.Voter != nil {
		return v.Voter.Name()
	}
	return string(v.Approver)
}
