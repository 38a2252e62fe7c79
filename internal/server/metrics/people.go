package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// people counts what people are asked, and how soon they hear of it, look and decide.
// Times are counted when an approval ends, drills never.
type people struct {
	calls, asked, endings *prometheus.CounterVec
	card, look, decision  *prometheus.HistogramVec
	votes, nameless       *prometheus.HistogramVec // the same, with people's names and without
	aimed, missed         prometheus.Counter
}

// hidden replaces every name if names are not shown to everyone.
const hidden = "hidden"

func newPeople(counter func(name, help string, labels ...string) *prometheus.CounterVec) people {
	seconds := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help,
			Buckets: []float64{.1, .5, 1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 14400}}, labels)
	}
	votes := func() *prometheus.HistogramVec {
		return seconds("approvalbot_person_vote_seconds",
			"Time from the first card (from asking, if no card was sent yet) to a person's vote that counted in the end; "+
				"person is hidden from scrapes without an operator's token.", "person", "verdict")
	}
	return people{
		votes: votes(), nameless: votes(),
		calls: counter("approvalbot_agent_calls_total", "Calls of an agent, settled at once or not.", "agent"),
		asked: counter("approvalbot_asked_total", "Calls that people were asked about.", "tool", "risk_class", "agent"),
		endings: counter("approvalbot_asks_ended_total", "Asks of people that have ended, and how.", "status",
			"agent"),
		card: seconds("approvalbot_first_card_seconds", "Time from asking until the first card was in a chat.",
			"risk_class"),
		look: seconds("approvalbot_first_look_seconds",
			"Time from asking until the first tap or vote of any person, even a refused one.", "risk_class"),
		decision: seconds("approvalbot_decision_seconds",
			"Time from asking to a final status, of approvals that people were asked about.", "status", "risk_class"),
		aimed: prometheus.NewCounter(prometheus.CounterOpts{Name: "approvalbot_objective_asks_total",
			Help: "Asks that have ended and count for the objective."}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{Name: "approvalbot_objective_missed_total",
			Help: "Those of them that were not decided in the objective's time."}),
	}
}

func (p people) all() []prometheus.Collector {
	return []prometheus.Collector{p.calls, p.asked, p.endings, p.card, p.look, p.decision, p.aimed, p.missed}
}

// begin makes a series of each family, so that a first scrape shows them all.
func (p people) begin() {
	class := approval.R3.String()
	p.calls.WithLabelValues("none")
	p.asked.WithLabelValues("other", class, "none")
	p.card.WithLabelValues(class)
	p.look.WithLabelValues(class)
	for _, s := range []approval.Status{approval.Approved, approval.Denied, approval.Expired, approval.Withdrawn} {
		p.decision.WithLabelValues(string(s), class)
		p.endings.WithLabelValues(string(s), "none")
	}
	p.votes.WithLabelValues("other", string(approval.Approve))
	p.nameless.WithLabelValues(hidden, string(approval.Approve))
}

// called counts a new approval.
func (p people) called(a approval.Approval, tool, agent string) {
	if a.Drill() {
		return
	}
	p.calls.WithLabelValues(agent).Inc()
	if !a.Final() {
		p.asked.WithLabelValues(tool, a.Assessment.RiskClass.String(), agent).Inc()
	}
}

// ended counts an approval that people were asked about and that has ended.
func (p people) ended(a approval.Approval, agent string, aim core.Objective) {
	if a.Drill() {
		return
	}
	class := a.Assessment.RiskClass.String()
	after := func(ms int64) float64 { return float64(ms-a.CreatedAtMs) / 1000 }
	p.endings.WithLabelValues(string(a.Status), agent).Inc()
	p.decision.WithLabelValues(string(a.Status), class).Observe(after(a.ResolvedAtMs))
	card := core.FirstCardMs(a)
	if card != 0 {
		p.card.WithLabelValues(class).Observe(after(card))
	}
	if a.LookedAtMs != 0 {
		p.look.WithLabelValues(class).Observe(after(a.LookedAtMs))
	}
	for _, v := range a.Votes {
		if v.Voter == nil {
			continue
		}
		since, name := a.CreatedAtMs, "other" // an account that is not a known person's is no label
		if card != 0 && card <= v.DecidedAtMs {
			since = card
		}
		if v.Voter.Person != "" {
			name = v.Voter.Person
		}
		took := float64(v.DecidedAtMs-since) / 1000
		p.votes.WithLabelValues(name, string(v.Verdict)).Observe(took)
		p.nameless.WithLabelValues(hidden, string(v.Verdict)).Observe(took)
	}
	if counts, missed := aim.Counts(a); counts {
		p.aimed.Inc()
		if missed {
			p.missed.Inc()
		}
	}
}
