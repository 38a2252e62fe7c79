package main

// checkLater refuses what asks for a feature that is not there yet. To bring a
// feature in, take its line out.
func (c *checker) checkLater(cfg *Config, env environ) {
	if cfg.Approvals.AgentShield.Enabled {
		c.mistake("approvals.agentshield.enabled", "not supported yet")
	}
	if env["AGENTSHIELD_APPROVALS_ENABLED"] == "1" {
		c.warn("approvals.agentshield.enabled", "AGENTSHIELD_APPROVALS_ENABLED=1 has no effect: that dialect is not supported yet")
	}
}
