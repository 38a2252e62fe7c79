package main

import (
	"time"

	"approvalbot/core"
	"approvalbot/verifier"
)

// outside adds the opinions that are asked for over the network: the verifier
// and the classifier, where they are on. Those of the rules in force until now
// are closed when they are idle, by their own transports' time limits.
func (d *desk) outside(cfg Config, rules *core.Rules) error {
	v, _, err := verifier.New(cfg.verifierConfig(), d.log) // Load has told the warnings
	if err != nil {
		return err
	}
	if cfg.asksVerifier() {
		rules.Verifier = v
	}
	if !cfg.approvals().Classifier.Enabled {
		return nil
	}
	settings := cfg.classifierConfig()
	settings.Observe = func(took time.Duration, o core.Opinion) {
		why := o.Failed
		if why == "" && o.Assessment.Confidence < cfg.approvals().Classifier.MinConfidence {
			why = "low-confidence"
		}
		d.metrics.Classified(took, why)
	}
	c, _, err := verifier.NewClassifier(settings, d.log)
	if err != nil {
		return err
	}
	rules.Classifier = c
	return nil
}

// verifierPlaces are the verifier's own chats: of all agents, and of single ones.
func (c Config) verifierPlaces() (places []core.Target) {
	if !c.asksVerifier() {
		return nil
	}
	channel := c.verifierChannel(c.Tools.Verifier.Telegram)
	for i, v := range c.verifiers() {
		if i > 0 && !c.Tools.Verifier.Telegram.Enabled {
			channel = c.verifierChannel(v.Telegram)
		}
		if v.Telegram.Enabled && v.Telegram.ChatID != "" {
			places = append(places, core.Target{Channel: channel, To: string(v.Telegram.ChatID)}.Normal())
		}
	}
	return places
}

// asksVerifier reports whether any agent's calls are verified.
func (c Config) asksVerifier() bool {
	for _, a := range c.Agents.List {
		if a.Tools.Verifier.Enabled {
			return true
		}
	}
	return c.Tools.Verifier.Enabled
}
