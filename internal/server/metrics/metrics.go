// Package metrics counts what happens to approvals, API requests and connections, for
// Prometheus.
package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// wellKnown are tool names that agents' runtimes have. A name that is neither here
// nor given to New or Use, nor frequent, counts as "other": labels must not grow with
// what callers send.
var wellKnown = []string{
	"exec", "bash", "Bash", "shell", "process", "read", "Read", "write", "Write", "edit", "Edit", "apply_patch",
	"ls", "find", "grep", "glob",
	"web_fetch", "WebFetch", "web_search", "WebSearch", "browser", "message", "cron", "gateway", "nodes", "image",
	"memory_search", "sessions_send", "sessions_spawn",
}

// Known is the part of the configuration that metrics need: names that may be labels,
// of tools and agents at most 200 each, and the time in which people aim to answer.
type Known struct {
	Tools, Agents []string
	Objective     core.Objective
}

// known is Known in a form for look-ups.
type known struct {
	tools, agents map[string]bool
	objective     core.Objective
}

// Set counts what happens to approvals and requests, in a registry of its
// own. [Set.Observe] is made for the Gate's after-commit hook.
type Set struct {
	registry *prometheus.Registry
	names    *prometheus.Registry // metrics that name people
	nameless *prometheus.Registry // and the same without their names
	named    map[string]bool
	tools    frequent
	known    atomic.Pointer[known]

	requests    *prometheus.CounterVec
	resolutions *prometheus.CounterVec
	timeouts    *prometheus.CounterVec
	factors     *prometheus.CounterVec
	unmet       *prometheus.CounterVec
	drills      *prometheus.CounterVec
	confined    *prometheus.CounterVec
	http        *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	waiters     prometheus.Gauge

	acceptFailures  prometheus.Counter
	anonymousClosed *prometheus.CounterVec

	classifier prometheus.Histogram
	fallbacks  *prometheus.CounterVec

	people people
}

// New makes an empty set. tools are further names that may be a label.
func New(tools ...string) *Set {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Set{
		registry: prometheus.NewRegistry(), names: prometheus.NewRegistry(), nameless: prometheus.NewRegistry(), named: map[string]bool{},
		requests: counter("tool_approval_requests_total", "Calls that were asked, settled at once or not.",
			"tool", "risk_class", "channel", "riskClass"),
		resolutions: counter("tool_approval_resolutions_total",
			"Approvals that were approved or denied, and by what kind of resolver.", "decision", "resolver_type", "resolverType"),
		timeouts: counter("tool_approval_timeout_total", "Approvals that expired.", "tool"),
		factors: counter("tool_approval_factor_results_total", "The final votes of each person and factor.",
			"approver_id", "verdict", "approverId"),
		unmet: counter("tool_approval_quorum_unmet_total",
			"Approvals whose quorum was not met in time, or never could be.", "risk_class", "min_approvals", "riskClass", "minApprovals"),
		drills: counter("approvalbot_drill_runs_total",
			"Scheduled drills that are over: ok, or failed if a chat got no card.", "result"),
		confined: counter("approvalbot_confined_total",
			"Confined runs, by their result: succeeded, failed, or blocked if what they did was not kept.", "result"),
		http: counter("approvalbot_http_requests_total", "API requests.", "method", "route", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "approvalbot_http_request_seconds",
			Help:    "Time to answer an API request, waiting included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 60}},
			[]string{"method", "route"}),
		classifier: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "tool_safety_classifier_latency_ms",
			Help:    "Time that the classifier took, in milliseconds.",
			Buckets: []float64{50, 100, 200, 400, 800, 1200, 2000, 5000, 10000}}),
		fallbacks: counter("tool_safety_classifier_fallback_total",
			"Calls that kept their static assessment because the classifier gave no opinion that counts.", "reason"),
		people: newPeople(counter),
		waiters: prometheus.NewGauge(prometheus.GaugeOpts{Name: "approvalbot_waiting_requests",
			Help: "API requests that wait for an approval's end."}),
		acceptFailures: prometheus.NewCounter(prometheus.CounterOpts{Name: "approvalbot_accept_failures_total",
			Help: "Connections that could not be accepted, as when the file descriptors have run out."}),
		anonymousClosed: counter("approvalbot_anonymous_connections_closed_total",
			"Connections without an authenticated request that were closed: there too long, too many of an "+
				"address or in total, or out of files.", "reason"),
	}
	for _, t := range append(tools, wellKnown...) {
		m.named[t] = true
	}
	m.Use(Known{})
	m.registry.MustRegister(m.requests, m.resolutions, m.timeouts, m.factors, m.unmet, m.drills, m.confined, m.http, m.seconds, m.waiters,
		m.classifier, m.fallbacks, m.acceptFailures, m.anonymousClosed,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.people.all()...)
	m.names.MustRegister(m.people.votes)
	m.nameless.MustRegister(m.people.nameless)
	m.begin()
	return m
}

// maxNamed bounds the names of each kind in [Known].
const maxNamed = 200

// Use makes what is known count from now on, in place of what was before.
func (m *Set) Use(k Known) { m.known.Store(&known{set(k.Tools), set(k.Agents), k.Objective}) }

func set(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names[:min(len(names), maxNamed)] {
		out[n] = true
	}
	return out
}

// begin makes a series of each family, so that a first scrape shows them all.
func (m *Set) begin() {
	m.request("other", approval.R0.String(), "none")
	for _, d := range []approval.Decision{approval.AllowOnce, approval.Deny} {
		m.resolution(d, "person")
		m.resolution(d, "policy")
	}
	m.timeouts.WithLabelValues("other")
	for _, v := range []approval.Verdict{approval.Approve, approval.Reject} {
		m.factor(approval.UserRequest, v)
	}
	m.unmetOf(approval.R3.String(), "1")
	m.http.WithLabelValues(http.MethodPost, "/v1/approvals", "201")
	m.fallbacks.WithLabelValues("timeout")
	for _, reason := range []string{"late", "address", "total", "files"} {
		m.anonymousClosed.WithLabelValues(reason)
	}
	m.drills.WithLabelValues("ok")
	m.drills.WithLabelValues("failed")
	m.people.begin()
}

func drillResult(a approval.Approval) string {
	if len(a.Missing) > 0 {
		return "failed"
	}
	return "ok"
}

// Observe counts one committed change.
func (m *Set) Observe(c core.Change) {
	a := c.Approval
	if c.New {
		channel := "none"
		if a.Origin != nil {
			channel = a.Origin.Channel
		}
		tool := m.tools.asked(a.ToolName, m.configured(a.ToolName))
		m.request(tool, a.Assessment.RiskClass.String(), channel).Inc()
		m.people.called(a, tool, m.agent(a.AgentID))
	}
	for _, e := range c.Events {
		switch e.Type {
		case approval.EventWithdrawn:
			m.ended(c)
		case approval.EventDrilled:
			m.drills.WithLabelValues(drillResult(a)).Inc()
		case approval.EventResult:
			if a.Confined != nil && a.Result != nil {
				m.confined.WithLabelValues(confinedResult(*a.Result)).Inc()
			}
		case approval.EventResolved:
			if a.Retries > 0 {
				continue // said again because it may be claimed again
			}
			m.ended(c)
			m.resolution(a.Decision, resolver(a.DecidedBy)).Inc()
			if hasCode(a, approval.ReasonInsufficient) {
				m.quorumUnmet(a)
			}
		case approval.EventExpired:
			m.ended(c)
			m.timeouts.WithLabelValues(m.tool(a.ToolName)).Inc()
			m.quorumUnmet(a)
		}
	}
}

func confinedResult(r approval.Result) string {
	if r.Confined != nil && len(r.Confined.Blocked) > 0 {
		return "blocked"
	}
	return r.Status
}

// ended counts the last vote of each person: a person who votes again counts once.
func (m *Set) ended(c core.Change) {
	a := c.Approval
	for _, v := range a.Votes {
		m.factor(v.Approver, v.Verdict).Inc()
	}
	if !c.New {
		m.people.ended(a, m.agent(a.AgentID), m.known.Load().objective)
	}
}

// Classified counts one question to the classifier: how long it took, and why
// there was no opinion that counts (empty: there was one).
func (m *Set) Classified(took time.Duration, failed string) {
	m.classifier.Observe(float64(took) / float64(time.Millisecond))
	if failed != "" {
		m.fallbacks.WithLabelValues(failed).Inc()
	}
}

func (m *Set) quorumUnmet(a approval.Approval) {
	m.unmetOf(a.Assessment.RiskClass.String(), strconv.Itoa(max(1, a.Rule.MinApprovals))).Inc()
}

// Until 1.0 the metrics of the tool approval blueprint have its labels beside those of before, with
// the same values.

func (m *Set) request(tool, class, channel string) prometheus.Counter {
	return m.requests.WithLabelValues(tool, class, channel, class)
}

func (m *Set) resolution(d approval.Decision, resolver string) prometheus.Counter {
	return m.resolutions.WithLabelValues(string(d), resolver, resolver)
}

func (m *Set) factor(by approval.Factor, v approval.Verdict) prometheus.Counter {
	return m.factors.WithLabelValues(string(by), string(v), string(by))
}

func (m *Set) unmetOf(class, need string) prometheus.Counter {
	return m.unmet.WithLabelValues(class, need, class, need)
}

// tool is the tool's label, whose call was counted before.
func (m *Set) tool(name string) string {
	if m.configured(name) || m.tools.frequent(name) {
		return name
	}
	return "other"
}

func (m *Set) configured(name string) bool { return m.named[name] || m.known.Load().tools[name] }

func (m *Set) agent(id string) string {
	switch {
	case id == "":
		return "none"
	case m.known.Load().agents[id]:
		return id
	}
	return "other"
}

// resolver is what settled an approval: person, policy, grant, or the automatic
// factor.
func resolver(by []string) string {
	kind := "none"
	for _, name := range by {
		prefix, _, account := strings.Cut(name, ":")
		switch {
		case prefix == "grant":
			kind = "grant"
		case account:
			return "person"
		default:
			kind = name
		}
	}
	return kind
}

func hasCode(a approval.Approval, code string) bool {
	for _, c := range a.Assessment.ReasonCodes {
		if c == code {
			return true
		}
	}
	return false
}

// Route gives the function that counts one route's requests.
func (m *Set) Route(method, path string) func(status int, took time.Duration) {
	seconds := m.seconds.WithLabelValues(method, path)
	var counters sync.Map // by status
	return func(status int, took time.Duration) {
		n, ok := counters.Load(status)
		if !ok {
			n, _ = counters.LoadOrStore(status, m.http.WithLabelValues(method, path, strconv.Itoa(status)))
		}
		n.(prometheus.Counter).Inc()
		seconds.Observe(took.Seconds())
	}
}

// AcceptFailed counts a connection that could not be accepted.
func (m *Set) AcceptFailed() { m.acceptFailures.Inc() }

// AnonymousClosed counts a connection that was closed before an authenticated request
// came on it, by why: late, address, total or files.
func (m *Set) AnonymousClosed(reason string) { m.anonymousClosed.WithLabelValues(reason).Inc() }

// Waiting counts one waiting request until the returned function is called.
func (m *Set) Waiting() (done func()) {
	m.waiters.Inc()
	return m.waiters.Dec
}

// Describe sends the descriptions of all metrics.
func (m *Set) Describe(out chan<- *prometheus.Desc) {
	m.registry.Describe(out)
	m.names.Describe(out)
}

// Serve answers a scrape with all metrics; named: with the names of people in labels.
func (m *Set) Serve(w http.ResponseWriter, r *http.Request, named bool) {
	all := prometheus.Gatherers{m.registry, m.nameless}
	if named {
		all[1] = m.names
	}
	promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}
