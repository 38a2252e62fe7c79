package verifier

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// maxAtOnce bounds how many calls are before the model at the same time.
const maxAtOnce = 16

// Classifier asks a model, over an OpenAI-compatible API, how risky a call is.
// Safe for concurrent use. It implements [core.Classifier].
type Classifier struct {
	cfg     ClassifierConfig
	url     string
	client  *http.Client
	log     *slog.Logger
	slots   chan struct{}
	breaker breaker
}

var _ core.Classifier = (*Classifier)(nil)

// NewClassifier makes a Classifier. The warnings are sentences about what is
// allowed but doubtful; the error names every mistake, one a line.
func NewClassifier(cfg ClassifierConfig, log *slog.Logger) (*Classifier, []string, error) {
	return newClassifier(cfg, log, newTransport())
}

func newClassifier(cfg ClassifierConfig, log *slog.Logger, t http.RoundTripper) (*Classifier, []string, error) {
	cfg, url, warnings, err := cfg.normal()
	if err != nil {
		return nil, warnings, err
	}
	return &Classifier{cfg: cfg, url: url, client: newClient(t), log: log, slots: make(chan struct{}, maxAtOnce)},
		warnings, nil
}

// Close lets go of idle connections. Calls that run go on.
func (c *Classifier) Close() { c.client.CloseIdleConnections() }

// Classify asks the model about a call, within the configured time. It never
// waits for anything but the model: with too many calls under way, or after
// repeated failures, it says so at once. Failed is one of:
//
//	timeout       no whole answer in time
//	unreachable   no connection, or a status that is not 2xx
//	invalid       an answer that is not exactly what was asked for, or params that are not JSON
//	open-circuit  not asked: the last five failed, less than 30 seconds ago
//	busy          not asked: 16 calls are being asked about
//	too-long      not asked: even without its params the call is beyond maxInputChars
//	cancelled     the caller gave up
//
// Of a call whose params did not fit whole, an opinion can only raise the class:
// one that would lower it has the confidence 0.
func (c *Classifier) Classify(ctx context.Context, call approval.Call, static approval.Judgement) approval.Opinion {
	start := time.Now()
	record := approval.Consultation{Authority: core.AuthorityClassifier, Endpoint: endpointOf(c.url), Verdict: "none"}
	o := c.classify(ctx, call, static, &record)
	if record.Cause == "" {
		record.Cause = o.Failed
	}
	if o.Failed == "" {
		record.Verdict, record.Cause = o.Assessment.RiskClass.String(), "assessed"
	}
	end := time.Now()
	record.AtMs, record.LatencyMs = end.UnixMilli(), end.Sub(start).Milliseconds()
	o.Consulted = []approval.Consultation{record}
	if c.cfg.Observe != nil {
		c.cfg.Observe(end.Sub(start), o)
	}
	return o
}

func (c *Classifier) classify(
	ctx context.Context, call approval.Call, static approval.Judgement, record *approval.Consultation,
) approval.Opinion {
	body, cut, err := c.request(call, static)
	switch {
	case errors.Is(err, errTooLong):
		return failed("too-long")
	case err != nil:
		return failed("invalid")
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return failed("busy")
	}
	ticket, ok := c.breaker.enter()
	if !ok {
		return failed("open-circuit")
	}
	a, v, cause, fail := c.send(ctx, body)
	c.breaker.leave(ticket, v)
	if fail != nil {
		record.Cause = cause
		c.log.Warn("the classifier gave no valid opinion; the static rules decide alone",
			"tool", call.ToolName, "place", shown(c.url), "problem", fail.word, "text",
			fail.text, "detail", fail.detail)
		return failed(fail.word)
	}
	if cut && a.RiskClass < static.Assessment.RiskClass {
		a.Confidence = 0
	}
	return approval.Opinion{Assessment: a}
}

// send asks once, and gives a verdict on the health of the model's server, and the
// failure if there was one.
func (c *Classifier) send(
	ctx context.Context, body []byte,
) (a approval.Assessment, v verdict, cause string, fail *failure) {
	own, cancel := context.WithTimeout(ctx, time.Duration(c.cfg.TimeoutMs)*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(own, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return a, sick, "unreachable", problem("unreachable", "its address cannot be used")
	}
	req.Header.Set("User-Agent", "approvalbot")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	if c.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	answer, status, fail := exchange(c.client, req)
	if fail != nil {
		v, cause = health(status, fail), fail.cause(status)
		if ctx.Err() != nil {
			v = unknown // the caller's patience, not the server's speed
		}
		if fail.word == "status" {
			fail.word = "unreachable"
		}
		return a, v, cause, fail
	}
	if a, fail = readOpinion(answer); fail != nil {
		cause = fail.cause(status)
	}
	return a, healthy, cause, fail
}

// health reports whether a failure shows a sick server. A failure that one
// call's own text may have caused does not count: else one asker could deprive
// all others of the opinion.
func health(status int, fail *failure) verdict {
	if fail.word == "invalid" {
		return healthy
	}
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return healthy
	}
	return sick
}

func failed(word string) approval.Opinion { return approval.Opinion{Failed: word} }
