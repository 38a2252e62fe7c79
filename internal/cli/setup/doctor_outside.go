package setup

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/server/connection"
	"approvalbot/internal/verifier"
)

// certificateFindings says whether clients will accept the desk's certificate, which a
// running desk reads anew by itself.
func certificateFindings(cfg config.Config) []core.Diagnostic {
	tls := cfg.Server.TLS
	if tls.CertFile == "" {
		return nil
	}
	found, err := connection.CheckCertificate(tls.CertFile, tls.KeyFile, time.Now())
	if err != nil {
		return []core.Diagnostic{core.Fail("server.tls", err.Error(), "the desk does not start with this")}
	}
	return []core.Diagnostic{found}
}

// serverFindings says in what state the running desk is; with offline, no desk need run.
// It is asked for its state alone, without any token, so that its certificate need not be
// trusted.
func serverFindings(ctx context.Context, cfg config.Config, offline bool) []core.Diagnostic {
	if offline {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	c := &api.Client{Server: cfg.LocalURL(), HTTP: &http.Client{Transport: transport}}
	r, err := c.Ready(ctx)
	var refused *api.Problem
	switch {
	case errors.As(err, &refused):
		return []core.Diagnostic{core.Fail("desk", "the program at "+cfg.LocalURL()+" is not an approval desk",
			"make server.listen match what runs there")}
	case err != nil:
		return []core.Diagnostic{core.Fail("desk", "no desk runs at "+cfg.LocalURL(),
			"start it with approvalbot serve; if it should not run now, use --offline")}
	case !r.Ready:
		return []core.Diagnostic{core.Fail("desk", "it runs but is not ready: store "+r.Store+", policy "+r.Policy, "see its log")}
	}
	found := []core.Diagnostic{core.OK("desk", "runs at "+cfg.LocalURL()+" and is ready")}
	for _, name := range effective.Outboxes() {
		if s := r.Channels[name]; effective.Bot(cfg, name).On() && !s.Up {
			found = append(found, core.Fail(name, "the running desk is not connected: "+strings.TrimSuffix(s.Detail, "."), "see its log"))
		}
	}
	return found
}

// publicFindings says whether links on cards lead to the desk.
func publicFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	base := strings.TrimRight(cfg.Server.PublicURL, "/")
	if base == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	const mend = "let the proxy pass server.publicUrl on to server.listen"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return []core.Diagnostic{core.Warn("publicUrl", "cannot be used", "write an http or https URL")}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return []core.Diagnostic{core.Warn("publicUrl", "was not reached: "+oneLine(err), mend)}
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64))
	if resp.StatusCode != http.StatusOK || string(body) != "ok\n" {
		return []core.Diagnostic{core.Warn("publicUrl", "does not lead to the desk: it answers "+resp.Status, mend)}
	}
	return []core.Diagnostic{core.OK("publicUrl", base+" leads to the desk")}
}

// verifierFindings sends each webhook a call that is marked as a test.
func verifierFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	if !effective.AsksVerifier(cfg) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	v, _, err := verifier.New(effective.Verifier(cfg), slog.New(slog.DiscardHandler))
	if err != nil {
		return []core.Diagnostic{core.Fail("verifier", oneLine(err), "correct tools.verifier")}
	}
	var found []core.Diagnostic
	for _, r := range v.Test(ctx) {
		what := "verifier " + r.Name
		switch {
		case r.Decision == "" && mayFailOpen(cfg, r.Name):
			found = append(found, core.Warn(what, strings.Join(r.Problems, " "), "until then failMode: allow lets every call pass"))
		case r.Decision == "":
			found = append(found, core.Fail(what, strings.Join(r.Problems, " "), "until then failMode: deny refuses every call in its scope"))
		case len(r.Problems) > 0:
			found = append(found, core.Warn(what, strings.Join(r.Problems, " "), ""))
		default:
			found = append(found, core.OK(what, fmt.Sprintf("%s answers %s after %s", r.Place, r.Decision, r.Latency.Round(time.Millisecond))))
		}
	}
	return found
}

// mayFailOpen reports whether calls pass while the webhook of that block is silent:
// the stricter one of the common fail mode and an agent's own counts.
func mayFailOpen(c config.Config, block string) bool {
	open := c.Tools.Verifier.FailMode == "allow"
	for _, a := range c.Agents.List {
		if block == "agents."+a.ID+".tools.verifier" && a.Tools.Verifier.FailMode == "deny" {
			open = false
		}
	}
	return open
}

// classifierFindings asks the model about a harmless call. If the model has no opinion,
// people are asked, so that the work goes on.
func classifierFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	if !cfg.ApprovalTools().Classifier.Enabled {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	c, _, err := verifier.NewClassifier(effective.Classifier(cfg), slog.New(slog.DiscardHandler))
	if err != nil {
		return []core.Diagnostic{core.Fail("classifier", oneLine(err), "correct approvals.tools.classifier")}
	}
	defer c.Close()
	call := approval.Call{ToolName: "approvalbot.doctor", AgentID: "approvalbot",
		Params: []byte(`{"test":true,"note":"This is a test of the connection. It will not run, even if it is allowed."}`)}
	static := approval.Judgement{Outcome: approval.OutcomeAsk,
		Assessment: approval.Assessment{RiskClass: approval.R3, Source: "static", ReasonCodes: []string{"unknown-tool"}}}
	start := time.Now()
	o := c.Classify(ctx, call, static)
	if o.Failed == "" {
		return []core.Diagnostic{core.OK("classifier",
			fmt.Sprintf("the model answers %s after %s", o.Assessment.RiskClass, time.Since(start).Round(time.Millisecond)))}
	}
	return []core.Diagnostic{core.Warn("classifier", "the model gave no valid opinion ("+o.Failed+"), so static rules decide alone",
		map[bool]string{true: "raise timeoutMs or take a faster model",
			false: "check apiUrl, apiKey and model"}[slices.Contains([]string{"timeout", "busy"}, o.Failed)])}
}

// oneLine is an error's text without line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
