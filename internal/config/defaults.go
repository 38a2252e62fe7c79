package config

import (
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/platform"
)

// Defaults is the configuration of an empty file. approvals.tools is not in it:
// without that block approvals are disabled.
func Defaults() Config {
	bots := map[string]Channel{}
	for _, r := range platform.Rows {
		bots[r.Name] = Channel{APIURL: r.APIURL, Updates: Updates{Mode: r.Pulled}}
	}
	return Config{
		Server: Server{
			Listen: "127.0.0.1:8787",
			Limits: Limits{Pending: 1000, RequestsPerSecond: 50},
			Web:    Web{Enabled: "auto"},
		},
		Store: Store{
			URL: "sqlite:approvalbot.db", KeyFile: "approvalbot.key",
			Retention: Retention{Approvals: Duration(90 * day)},
		},
		Channels: Channels{Bots: bots},
		Tools: Tools{Profile: "full", Verifier: Verifier{
			FailMode: "deny", Webhook: VerifierWebhook{Timeout: 30}, Chat: VerifierChat{Timeout: 120},
		}},
		Approvals: Approvals{Exec: Exec{Security: "allowlist", Ask: "on-miss", AskFallback: "deny"}},
	}
}

// setDefaults sets t to an approvals.tools block without keys.
func (t *ApprovalTools) setDefaults() {
	*t = ApprovalTools{
		Enabled: true, Mode: "adaptive", TimeoutMs: 900_000, MaxTimeoutMs: 86_400_000, RetryWindow: Duration(day),
		AllowedApprovers: []string{"user_request", "rules_based"}, MinApprovals: 1, SelfApproval: "block",
		Classifier: Classifier{TimeoutMs: 1200, MaxInputChars: 6000, MinConfidence: 0.72, OnLowConfidence: "require_approval"},
		Confine:    Confine{Mode: "off"},
		Policy: Policy{
			RequireApprovalAtOrAbove:        Risk{Class: approval.R3, Set: true},
			RequireApprovalForExternalWrite: true,
			RequireApprovalForMessagingSend: true,
			AgentInstructions:               "ask",
			ProjectCode:                     "allow",
			RequireHumanApproverAtOrAbove:   Risk{Class: approval.R3, Set: true},
			BreaksQuietAtOrAbove:            Risk{Class: approval.R4, Set: true},
		},
		Routing: Routing{Mode: "both", FallbackAfter: Duration(20 * time.Second), DigestAbove: 5},
		SLO:     SLO{DecidedWithin: Duration(10 * time.Minute), Share: 0.95},
	}
}

// DefaultServer is the address of a desk whose configuration does not set one.
const DefaultServer = "http://127.0.0.1:8787"
