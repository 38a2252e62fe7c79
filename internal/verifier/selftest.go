package verifier

import (
	"context"
	"time"

	"approvalbot/internal/approval"
)

// TestTool is the tool name of the synthetic call that [Verifier.Test] sends.
const TestTool = "approvalbot.verifier-test"

// Report is one webhook's answer to a synthetic call. It holds no secrets.
type Report struct {
	// Name is the configuration block, "tools.verifier" or "agents.<id>.tools.verifier"
	Name      string        `json:"name"`
	Place     string        `json:"place"`     // scheme and host of the address
	RequestID string        `json:"requestId"` // of the call that was sent
	Status    int           `json:"status"`    // HTTP status, 0 if no answer came
	Latency   time.Duration `json:"latencyNs"` // until the whole answer was read
	Decision  string        `json:"decision"`  // "allow", "deny", or empty if there was no valid answer
	Reason    string        `json:"reason"`    // the webhook's own, safe to show
	Signed    bool          `json:"signed"`    // a signature was sent
	Problems  []string      `json:"problems"`  // sentences; empty if all is well
}

// Test sends every configured webhook a call that is marked as a test and can
// never run, on the same path as a real one, and reports how each answered. The
// result is empty if no webhook is in use.
func (v *Verifier) Test(ctx context.Context) []Report {
	var out []Report
	for _, e := range v.eachEndpoint() {
		out = append(out, v.testOne(ctx, e))
	}
	return out
}

func (v *Verifier) testOne(ctx context.Context, e *endpoint) Report {
	q, err := ask(approval.Call{
		ToolName: TestTool, AgentID: "approvalbot", SessionKey: "approvalbot:verifier-test",
		Params: []byte(`{"test":true,"note":"This is a test of the connection. It will not run, even if it is allowed."}`),
	})
	out := Report{Name: e.name, Place: shown(e.url), RequestID: q.RequestID, Signed: len(e.secret) > 0}
	if err != nil {
		out.Problems = []string{"The test call cannot be written."}
		return out
	}
	start := time.Now()
	r := e.send(ctx, v.client, q)
	out.Latency, out.Status, out.Reason = time.Since(start), r.status, r.reason
	switch {
	case r.fail != nil:
		out.Problems = append(out.Problems, "The verifier gave no valid answer: "+r.fail.text+".")
		if r.fail.detail != "" {
			out.Problems = append(out.Problems, "In detail: "+r.fail.detail+".")
		}
		if r.status >= 300 && r.status < 400 {
			out.Problems = append(out.Problems, "Set webhook.url to the final address.")
		}
	case r.allow:
		out.Decision = "allow"
	default:
		out.Decision = "deny"
	}
	if !out.Signed {
		out.Problems = append(out.Problems, "The request was not signed: set webhook.secret so that the verifier "+
			"can tell who asks.")
	}
	return out
}
