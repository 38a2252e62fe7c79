package main

import (
	"time"

	"approvalbot/core"
)

const day = 24 * time.Hour

// defaults is the configuration of an empty file. approvals.tools is not in it:
// without that block approvals are disabled.
func defaults() Config {
	return Config{
		Server: ServerConfig{
			Listen: "127.0.0.1:8787",
			Limits: LimitsConfig{Pending: 1000, RequestsPerSecond: 50},
		},
		Store: StoreConfig{
			URL: "sqlite:approvalbot.db", KeyFile: "approvalbot.key",
			Retention: RetentionConfig{Approvals: Duration(90 * day)},
		},
		Channels: ChannelsConfig{
			Telegram: TelegramConfig{APIURL: "https://api.telegram.org", Updates: Updates{Mode: "polling"}},
			Discord:  DiscordConfig{APIURL: "https://discord.com", Updates: Updates{Mode: "gateway"}},
		},
		Tools: ToolsConfig{Profile: "full", Verifier: VerifierConfig{
			FailMode: "deny", Webhook: VerifierWebhookConfig{Timeout: 30}, Telegram: VerifierTelegramConfig{Timeout: 120},
		}},
		Approvals: ApprovalsConfig{Exec: ExecConfig{Security: "allowlist", Ask: "on-miss", AskFallback: "deny"}},
	}
}

// setDefaults makes t what an approvals.tools block without keys says.
func (t *ApprovalToolsConfig) setDefaults() {
	*t = ApprovalToolsConfig{
		Enabled: true, Mode: "adaptive", TimeoutMs: 900_000, MaxTimeoutMs: 86_400_000, RetryWindow: Duration(day),
		AllowedApprovers: []string{"user_request", "rules_based"}, MinApprovals: 1, SelfApproval: "block",
		Classifier: ClassifierConfig{TimeoutMs: 1200, MaxInputChars: 6000, MinConfidence: 0.72, OnLowConfidence: "require_approval"},
		Policy: PolicyConfig{
			RequireApprovalAtOrAbove:        Risk{Class: core.R3, Set: true},
			RequireApprovalForExternalWrite: true,
			RequireApprovalForMessagingSend: true,
			ProjectCode:                     "allow",
			RequireHumanApproverAtOrAbove:   Risk{Class: core.R3, Set: true},
		},
		Routing: RoutingConfig{Mode: "both", FallbackAfter: Duration(20 * time.Second)},
	}
}
