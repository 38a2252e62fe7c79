package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/config/effective"
	"approvalbot/verifier"
)

func newVerifierCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "verifier", Short: "The external tool verifier"}
	cmd.AddCommand(&cobra.Command{
		Use:   "test",
		Short: "Send every configured webhook a call that is marked as a test, and say how it answered",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.testVerifier(cmd.Context()) },
	})
	return cmd
}

// testVerifier fails where a webhook gave no valid answer: then failMode would
// decide.
func (a *app) testVerifier(ctx context.Context) error {
	cfg, _, err := effective.Load(a.config, a.environ, nil)
	if err != nil {
		return err
	}
	v, warnings, err := verifier.New(effective.Verifier(cfg), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	reports := v.Test(ctx)
	if a.json {
		if err := a.printJSON(reports); err != nil {
			return err
		}
	} else {
		for _, w := range warnings {
			fmt.Fprintf(a.stdout, "warning: %s\n", safe(w))
		}
		if len(reports) == 0 {
			fmt.Fprintln(a.stdout, "no webhook is configured: set tools.verifier.webhook.url")
		}
	}
	bad := false
	for _, r := range reports {
		bad = bad || r.Decision == ""
		if !a.json {
			a.printReport(r)
		}
	}
	if bad {
		return errors.New("a verifier gave no valid answer; its failMode would decide")
	}
	return nil
}

func (a *app) printReport(r verifier.Report) {
	status := "no answer"
	if r.Status != 0 {
		status = "HTTP " + strconv.Itoa(r.Status)
	}
	signed := "not signed"
	if r.Signed {
		signed = "signed"
	}
	fmt.Fprintf(a.stdout, "%s at %s: %s, %s after %s, %s\n", safe(r.Name), safe(r.Place), cmp.Or(r.Decision, "no decision"), status, r.Latency.Round(time.Millisecond), signed)
	if r.Reason != "" {
		fmt.Fprintf(a.stdout, "  reason: %s\n", safe(r.Reason))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(a.stdout, "  %s\n", safe(p))
	}
}
