package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/display"
	"approvalbot/internal/verifier"
)

func newVerifierCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "verifier", Short: "The external tool verifier"}
	cmd.AddCommand(&cobra.Command{
		Use:   "test",
		Short: "Send every configured webhook a call that is marked as a test, and say how it answered",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return testVerifier(cmd.Context(), a) },
	})
	return cmd
}

// testVerifier fails if a webhook gave no valid answer: then failMode would decide.
func testVerifier(ctx context.Context, a *app.App) error {
	cfg, _, err := effective.Load(a.Config, a.Environ, nil)
	if err != nil {
		return err
	}
	v, warnings, err := verifier.New(effective.Verifier(cfg), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	reports := v.Test(ctx)
	if a.JSON {
		if err := a.PrintJSON(reports); err != nil {
			return err
		}
	} else {
		for _, w := range warnings {
			fmt.Fprintf(a.Stdout, "warning: %s\n", display.Escape(w))
		}
		if len(reports) == 0 {
			fmt.Fprintln(a.Stdout, "no webhook is configured: set tools.verifier.webhook.url")
		}
	}
	bad := false
	for _, r := range reports {
		bad = bad || r.Decision == ""
		if !a.JSON {
			printReport(a, r)
		}
	}
	if bad {
		return errors.New("a verifier gave no valid answer; its failMode would decide")
	}
	return nil
}

func printReport(a *app.App, r verifier.Report) {
	status := "no answer"
	if r.Status != 0 {
		status = "HTTP " + strconv.Itoa(r.Status)
	}
	signed := "not signed"
	if r.Signed {
		signed = "signed"
	}
	fmt.Fprintf(a.Stdout, "%s at %s: %s, %s after %s, %s\n", display.Escape(r.Name), display.Escape(r.Place),
		cmp.Or(r.Decision, "no decision"), status, r.Latency.Round(time.Millisecond), signed)
	if r.Reason != "" {
		fmt.Fprintf(a.Stdout, "  reason: %s\n", display.Escape(r.Reason))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(a.Stdout, "  %s\n", display.Escape(p))
	}
}
