package daemon

import (
	"context"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/verifier"
	"approvalbot/routing"
)

// outside adds the opinions that are asked for over the network: the verifier
// and the classifier, if they are on. Connections of the previous rules are
// closed when they are idle, by their transports' time limits.
func (d *Daemon) outside(cfg config.Config, rules *core.Rules) error {
	v, _, err := verifier.New(effective.Verifier(cfg), d.log) // Load has logged the warnings
	if err != nil {
		return err
	}
	if effective.AsksVerifier(cfg) {
		rules.Verifier = v
	}
	if !cfg.ApprovalTools().Classifier.Enabled {
		return nil
	}
	settings := effective.Classifier(cfg)
	settings.Observe = func(took time.Duration, o approval.Opinion) {
		why := o.Failed
		if why == "" && o.Assessment.Confidence < cfg.ApprovalTools().Classifier.MinConfidence {
			why = "low-confidence"
		}
		d.Metrics.Classified(took, why)
	}
	c, _, err := verifier.NewClassifier(settings, d.log)
	if err != nil {
		return err
	}
	rules.Classifier = c
	return nil
}

// rulesOf makes the snapshot that a configuration means.
func (d *Daemon) rulesOf(ctx context.Context, cfg config.Config, table *routing.Table) (core.Rules, error) {
	rules, err := effective.Rules(cfg, table)
	if err != nil {
		return rules, err
	}
	d.restoreCalendars(ctx, rules.Contact.Duty)
	return rules, d.outside(cfg, &rules)
}
