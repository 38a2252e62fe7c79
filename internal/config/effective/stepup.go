package effective

import (
	"fmt"

	"approvalbot/internal/assertion"
	"approvalbot/internal/config"
)

// site is the one for which people's passkeys are; zero: there are none.
func site(c config.Config) assertion.Site {
	s, err := assertion.SiteOf(c.Server.WebURL())
	if err != nil {
		return assertion.Site{}
	}
	return s
}

// StepUp gives the keys by which a yes must be signed with a passkey, in their order.
func StepUp(c config.Config) (keys []string) {
	t := c.ApprovalTools()
	if t.Policy.StepUpAtOrAbove.Set {
		keys = append(keys, "approvals.tools.policy.stepUpAtOrAbove")
	}
	for i, a := range c.Agents.List {
		if a.Approvals.Policy.StepUpAtOrAbove.Set {
			keys = append(keys, config.Index("agents.list", i)+".approvals.policy.stepUpAtOrAbove")
		}
	}
	for i, r := range t.Rules {
		if r.StepUp {
			keys = append(keys, config.Index("approvals.tools.rules", i)+".stepUp")
		}
	}
	return keys
}

// checkStepUp: where no page can ask a passkey, a yes that must be signed is none.
func (c *checker) checkStepUp(cfg *config.Config) {
	_, err := assertion.SiteOf(cfg.Server.WebURL())
	if err == nil {
		return
	}
	for _, key := range StepUp(*cfg) {
		c.Mistake(key, "%s", fmt.Sprintf("needs passkeys, and for them server.publicUrl %s", err))
	}
}
