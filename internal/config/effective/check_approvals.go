package effective

import (
	"slices"
	"time"

	"approvalbot/internal/config"
)

// maxTimeout is the longest life of a pending approval that may be configured.
const maxTimeout = 30 * 24 * time.Hour

func (c *checker) checkApprovals(cfg *config.Config) {
	t := cfg.Approvals.Tools
	if t == nil || !t.Enabled {
		c.Warn("approvals.tools", "approvals disabled: every request is refused until approvals.tools is there and enabled")
		if t == nil {
			return
		}
	}
	const key = "approvals.tools"
	limit := maxTimeout.Milliseconds()
	if t.MaxTimeoutMs < 1000 || t.MaxTimeoutMs > limit {
		c.Mistake(key+".maxTimeoutMs", "must be from 1000 to %d (30 days)", limit)
		if t.TimeoutMs < 1000 || t.TimeoutMs > limit {
			c.Mistake(key+".timeoutMs", "must be from 1000 to maxTimeoutMs")
		}
	} else if t.TimeoutMs < 1000 || t.TimeoutMs > t.MaxTimeoutMs {
		c.Mistake(key+".timeoutMs", "must be from 1000 to maxTimeoutMs, which is %d", t.MaxTimeoutMs)
	}
	c.checkRetryWindow(key+".retryWindow", time.Duration(t.RetryWindow), time.Duration(cfg.Store.Retention.Approvals))
	c.atLeast(key+".minApprovals", t.MinApprovals, 1)
	distinct(c, key+".allowedApprovers", t.AllowedApprovers)
	distinct(c, key+".disabledApprovers", t.DisabledApprovers)
	c.checkRisk(key+".policy", t.Policy)
	c.checkStepUp(cfg)
	if t.SelfApproval == "solo" {
		c.Warn(key+".selfApproval", "solo lets people approve their own requests; cards and the log say so")
	}
	if t.Mode == "off" {
		c.Warn(key+".mode", "off asks no approver: only the hard layers under tools can refuse a call")
	}
	c.checkClassifier(key+".classifier", t.Classifier, Classifier(*cfg))
	c.checkFactors(key, t)
	c.checkRules(key+".rules", cfg)
	c.checkRouting(key+".routing", cfg)
	c.checkDuty(key+".onDuty", cfg)
	c.checkContacts(key+".routing", cfg)
	c.checkObjective(key+".slo", t.SLO)
	c.checkDrill(key+".drill.cron", t.Drill.Cron)
}

// checkRetryWindow: a claim whose answer was lost is asked for again within it too.
func (c *checker) checkRetryWindow(key string, window, retention time.Duration) {
	const least = 5 * time.Minute
	switch {
	case window < least:
		c.Mistake(key, "must be 5m or more, the time in which an approved call may be claimed")
	case retention > 0 && retention < window:
		c.Warn(key, "is longer than store.retention.approvals, so calls are deleted while people could still vote "+
			"for a retry")
	}
}

func (c *checker) checkRisk(key string, p config.Policy) {
	c.checkQuorums(key, p.MinApprovalsByRisk)
	deny, ask := p.DenyAtOrAbove, p.RequireApprovalAtOrAbove
	if deny.Set && deny.Class < ask.Class {
		c.Warn(key+".denyAtOrAbove", "is below requireApprovalAtOrAbove, so people are never asked: each class is "+
			"allowed or denied")
	}
}

// checkFactors warns of approvers who can never say yes.
func (c *checker) checkFactors(key string, t *config.ApprovalTools) {
	effective := t.EffectiveApprovers()
	switch {
	case len(effective) == 0:
		c.Warn(key+".allowedApprovers", "leaves no approver after disabledApprovers: every call that needs approval is denied")
	case slices.Contains(effective, "llm_evaluation") && !t.Classifier.Enabled:
		c.Warn(key+".allowedApprovers", "names llm_evaluation, which never votes while the classifier is off")
	}
}

func (c *checker) checkRouting(key string, cfg *config.Config) {
	r := cfg.Approvals.Tools.Routing
	if r.FallbackAfter < 0 || len(r.Fallback) > 0 && r.FallbackAfter == 0 {
		c.Mistake(key+".fallbackAfter", "must be longer than 0s")
	}
	c.distinctPlaces(key+".targets", r.Targets)
	c.distinctPlaces(key+".fallback", r.Fallback)
	c.distinctPlaces(key+".auditChats", r.AuditChats)
	c.distinctPlaces("approvals.agentshield.targets", cfg.Approvals.AgentShield.Targets)
	live := 0
	count := func(list string, places []config.Place) {
		for i, p := range places {
			if cfg.Channels.Bots[p.Channel].On() {
				live++
				continue
			}
			c.Warn(config.Index(list, i), "%s is off: no card goes there", p.Channel)
		}
	}
	for i, p := range r.AuditChats {
		if !cfg.Channels.Bots[p.Channel].On() {
			c.Warn(config.Index(key+".auditChats", i), "%s is off: no checkpoint goes there", p.Channel)
		}
	}
	count(key+".targets", r.Targets)
	count(key+".fallback", r.Fallback)
	if live == 0 && r.Mode != "session" {
		c.Warn(key+".targets", "names no chat that is on, so only session chats get cards; people can also decide "+
			"by API, terminal and watch")
	}
}
