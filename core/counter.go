package core

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// Stats is how it went with the calls that were asked since a time. Drills do not count.
type Stats struct {
	SinceMs     int64
	All         Numbers
	ByStatus    []NameCount   // most first, as the next one
	ReasonCodes []NameCount   // as the others at most 200
	ByClass     []Numbers     // R0 first
	ByAgent     []Numbers     // most calls first; an empty name means that the calls name no agent
	ByTool      []Numbers     // most calls first
	Approvers   []PersonVotes // who voted, most votes first
}

// Numbers are of all calls, or of those of one class, agent or tool. Times are from asking.
type Numbers struct {
	Name         string
	Calls        int
	Asked        int // calls that people were asked about; policy or a grant settled the others
	AskedPer100  float64
	Expired      int
	ExpiredShare float64 // of the asks that have ended, 0 to 1
	FirstCard    Spread  // until the first card stood in a chat
	FirstLook    Spread  // until the first tap or vote, also one that was refused
	Decision     Spread  // until people had decided
}

// NameCount is how often something was.
type NameCount struct {
	Name  string
	Count int
}

// PersonVotes is how one person voted.
type PersonVotes struct {
	Name             string // the person, or the account if its person is not known
	Approved, Denied int
	Vote             Spread // from asking to their vote
	SinceCard        Spread // from the first card in a chat to their vote
}

// maxCounted is how many names each list of [Counter.Stats] has at most: tools and
// agents are called what their askers call them.
const maxCounted = 200

// Counter counts approvals. The zero value is ready to count.
type Counter struct {
	all                  counted
	status, reasons      map[string]int
	class, agents, tools map[string]*counted
	people               map[string]*voted
}

// counted is what is counted of some approvals.
type counted struct {
	calls, asked, expired, pending int
	card, look, decision           times
}

// voted is what one person voted.
type voted struct {
	approved, denied int
	vote, sinceCard  times
}

// Add counts one approval with its deliveries, unless it is a drill.
func (c *Counter) Add(a approval.Approval) {
	if a.Drill() {
		return
	}
	c.begin()
	c.status[string(a.Status)]++
	for _, r := range a.Assessment.ReasonCodes {
		c.reasons[r]++
	}
	c.all.add(a)
	of(c.class, a.Assessment.RiskClass.String()).add(a)
	of(c.agents, a.AgentID).add(a)
	of(c.tools, a.ToolName).add(a)
	for _, by := range firstGivers(a) {
		of(c.people, people.People([]string{by})).approved++
	}
	for _, v := range a.Votes {
		if v.Voter != nil && v.Decision != approval.Retry {
			of(c.people, people.People([]string{v.Voter.Name()})).add(a, v)
		}
	}
}

func (c *Counter) begin() {
	if c.status == nil {
		c.status, c.reasons, c.people = map[string]int{}, map[string]int{}, map[string]*voted{}
		c.class, c.agents, c.tools = map[string]*counted{}, map[string]*counted{}, map[string]*counted{}
	}
}

// firstGivers names the people whose first yes a retry's votes have replaced.
func firstGivers(a approval.Approval) []string {
	if len(a.RetriedBy) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.AllowedBy()), func(by string) bool { return !strings.HasPrefix(by, "person:") })
}

// of gives the entry of that name.
func of[T any](all map[string]*T, name string) *T {
	if all[name] == nil {
		all[name] = new(T)
	}
	return all[name]
}

func (n *counted) add(a approval.Approval) {
	n.calls++
	if !Asked(a) {
		return
	}
	n.asked++
	if card := FirstCardMs(a); card != 0 {
		n.card.add(card - a.CreatedAtMs)
	}
	if a.LookedAtMs != 0 {
		n.look.add(a.LookedAtMs - a.CreatedAtMs)
	}
	byPerson := slices.ContainsFunc(a.Votes, func(v approval.Vote) bool { return v.Voter != nil })
	switch {
	case a.Status == approval.Pending:
		n.pending++
	case a.Status == approval.Expired:
		n.expired++
	case a.Status != approval.Withdrawn && byPerson:
		n.decision.add(a.ResolvedAtMs - a.CreatedAtMs)
	}
}

func (w *voted) add(a approval.Approval, v approval.Vote) {
	switch v.Verdict {
	case approval.Approve:
		w.approved++
	case approval.Reject:
		w.denied++
	}
	w.vote.add(v.DecidedAtMs - a.CreatedAtMs)
	if card := FirstCardMs(a); card != 0 && card <= v.DecidedAtMs {
		w.sinceCard.add(v.DecidedAtMs - card)
	}
}

// Stats is what was counted, of approvals since that time.
func (c *Counter) Stats(sinceMs int64) Stats {
	out := Stats{SinceMs: sinceMs, All: c.all.numbers(""), ByStatus: counts(c.status), ReasonCodes: counts(c.reasons),
		ByClass: numbersOf(c.class), ByAgent: numbersOf(c.agents), ByTool: numbersOf(c.tools),
		Approvers: make([]PersonVotes, 0, len(c.people))}
	slices.SortFunc(out.ByClass, func(a, b Numbers) int { return strings.Compare(a.Name, b.Name) })
	for name, w := range c.people {
		out.Approvers = append(out.Approvers, PersonVotes{Name: name, Approved: w.approved, Denied: w.denied,
			Vote: w.vote.spread(), SinceCard: w.sinceCard.spread()})
	}
	out.Approvers = most(out.Approvers, func(x PersonVotes) (int, string) { return x.Approved + x.Denied, x.Name })
	return out
}

func (n *counted) numbers(name string) Numbers {
	return Numbers{Name: name, Calls: n.calls, Asked: n.asked, Expired: n.expired,
		AskedPer100: share(100*n.asked, n.calls), ExpiredShare: share(n.expired, n.asked-n.pending),
		FirstCard: n.card.spread(), FirstLook: n.look.spread(), Decision: n.decision.spread()}
}

func numbersOf(all map[string]*counted) []Numbers {
	out := make([]Numbers, 0, len(all))
	for name, n := range all {
		out = append(out, n.numbers(name))
	}
	return most(out, func(x Numbers) (int, string) { return x.Calls, x.Name })
}

func counts(all map[string]int) []NameCount {
	out := make([]NameCount, 0, len(all))
	for name, n := range all {
		out = append(out, NameCount{Name: name, Count: n})
	}
	return most(out, func(x NameCount) (int, string) { return x.Count, x.Name })
}

// most sorts the largest first, by name if they are equal, and gives the first ones.
func most[T any](all []T, by func(T) (int, string)) []T {
	slices.SortFunc(all, func(a, b T) int {
		n, name := by(a)
		m, other := by(b)
		return cmp.Or(cmp.Compare(m, n), strings.Compare(name, other))
	})
	return all[:min(len(all), maxCounted)]
}

// share is n of all, to four digits; 0 if all is 0.
func share(n, all int) float64 {
	if all == 0 {
		return 0
	}
	return math.Round(1e4*float64(n)/float64(all)) / 1e4
}
