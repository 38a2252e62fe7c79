package effective

import (
	"fmt"

	"approvalbot/internal/assertion"
	"approvalbot/internal/config"
)

// site is the site that people's passkeys are made for; zero if there are no
// passkeys.
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

// checkStepUp reports rules that need a signed yes if no page of the desk can ask
// for a passkey: such a yes could never be given.
func (c *checker) checkStepUp(cfg *config.Config) {
	_, err := assertion.SiteOf(cfg.Server.WebURL())
	if err == nil {
		return
	}
	for _, key := range StepUp(*cfg) {
		c.Mistake(key, "%s", fmt.Sprintf("needs passkeys, and for passkeys server.publicUrl %s", err))
	}
}
