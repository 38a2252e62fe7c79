package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// drillEvery is how often a drill looks at how its cards are.
const drillEvery = 250 * time.Millisecond

func newDrillCommand(a *app.App) *cobra.Command {
	var origin string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "drill",
		Short: "Send a marked request that can never run through every route, and time the cards",
		Long: "Ask for the tool approvalbot.drill, which no desk ever hands out to run, and say how long each card and a decision\n" +
			"took. Cards go at once to every chat that any approval can reach: the targets, the fallback chats, those of agentshield\n" +
			"and of the verifier's own people. Policy, grants and the verifier's webhook have no say. Tap a button to try the way\n" +
			"back: one person's tap decides; a drill that is still pending at the end is withdrawn. Exit status: 0 if every chat got\n" +
			"its card, else 1. An agent's token or an operator's (operator.approvals) will do.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait <= 0 {
				return errors.New("--wait must be above 0, such as 2m")
			}
			ask := askFlags{origin: origin,
				justification: "A drill: tap any button, so that the way back is tried too.", life: wait + deskGrace}
			return runDrill(cmd.Context(), a, ask, wait)
		},
	}
	cmd.Flags().StringVar(&origin, "origin", "",
		"also try the way to this session chat, as channel:chat or channel:chat:thread")
	cmd.Flags().DurationVar(&wait, "wait", 2*time.Minute, "how long to wait for cards and a decision")
	return cmd
}

func runDrill(ctx context.Context, a *app.App, ask askFlags, wait time.Duration) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	params, err := json.Marshal(map[string]any{"drill": true, "note": "It will not run, even after a yes.",
		"id": uuid.NewString()})
	if err != nil {
		return err
	}
	req, err := ask.request(approval.DrillTool, params)
	if err != nil {
		return err
	}
	d := &drill{App: a, client: c, asked: time.Now(), reported: map[string]bool{}}
	asking, leave := api.Lingering(ctx, withdrawPatience)
	defer leave()
	d.last, err = c.Create(asking, req, api.CreateOptions{})
	if err != nil {
		return err
	}
	if !d.last.Status.Final() {
		d.say("drill %s: it cannot run; waiting for cards and a tap, at most %s", display.Escape(d.last.Code),
			wait)
	}
	if err := d.follow(ctx, wait); err != nil {
		return err
	}
	return d.conclude(ctx)
}

// drill is one drill under way.
type drill struct {
	*app.App
	client   *api.Client
	asked    time.Time
	last     api.Approval
	cards    []drilled
	reported map[string]bool // targets whose card was spoken of
}

// drilled is how one card went.
type drilled struct {
	Target  string `json:"target"`
	State   string `json:"state"` // sent, failed, or queued: it did not come in time
	AfterMs int64  `json:"afterMs"`
	Error   string `json:"error,omitempty"`
}

func (d *drill) say(format string, args ...any) {
	if !d.JSON {
		fmt.Fprintf(d.Plain(), format+"\n", args...)
	}
}

// follow looks at the drill until it is decided, or wait or ctx is over. A desk
// that is away for a moment is asked again.
func (d *drill) follow(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(drillEvery)
	defer tick.Stop()
	for {
		d.note()
		if d.last.Status.Final() {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		got, err := d.client.Get(ctx, d.last.ID, 0)
		var refused *api.Problem
		switch {
		case err == nil:
			d.last = got
		case errors.As(err, &refused) && !app.Passing(refused):
			return err
		}
	}
}

// note tells of each card once, when it is known how it went.
func (d *drill) note() {
	for _, x := range d.last.Deliveries {
		if x.State == "queued" || d.reported[x.Target] {
			continue
		}
		d.reported[x.Target] = true
		card := drilled{Target: x.Target, State: "sent", AfterMs: time.Since(d.asked).Milliseconds()}
		if x.State == "failed" {
			card.State, card.Error = "failed", x.Error
			d.say("  %s: no card: %s", display.Escape(x.Target), display.Escape(x.Error))
		} else {
			d.say("  %s: card after %s", display.Escape(x.Target), seconds(card.AfterMs))
		}
		d.cards = append(d.cards, card)
	}
}

// conclude withdraws a request that is still pending, prints the result and
// gives the exit status.
func (d *drill) conclude(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawPatience)
	defer cancel()
	if !d.last.Status.Final() {
		got, err := d.client.Withdraw(ctx, d.last.ID, api.WithdrawRequest{Reason: "the drill is over"})
		if err != nil {
			return fmt.Errorf("the drill could not be withdrawn, so its cards stay open until %s: %w",
				show.When(d.last.ExpiresAtMs), err)
		}
		d.last = got
	}
	d.note()
	for _, x := range d.last.Deliveries {
		if !d.reported[x.Target] {
			d.cards = append(d.cards, drilled{Target: x.Target, State: "queued"})
			d.say("  %s: no card came in time", display.Escape(x.Target))
		}
	}
	d.say("%s", d.outcome())
	if d.JSON {
		if err := d.PrintJSON(map[string]any{"id": d.last.ID, "code": d.last.Code, "status": d.last.Status,
			"decision":       d.last.Decision,
			"decidedBy":      d.last.DecidedBy,
			"decidedAfterMs": max(0, d.last.ResolvedAtMs-d.last.CreatedAtMs), "cards": append([]drilled{}, d.cards...)}); err != nil {
			return err
		}
	}
	if len(d.cards) == 0 || slices.ContainsFunc(d.cards, func(x drilled) bool { return x.State != "sent" }) {
		return app.ExitCode(app.ExitError)
	}
	return nil
}

// outcome tells the result of the drill in one line.
func (d *drill) outcome() string {
	v := d.last
	after := seconds(v.ResolvedAtMs - v.CreatedAtMs)
	switch {
	case len(v.Deliveries) == 0 && v.Status == api.Withdrawn:
		return "No chat got a card: approvals.tools.routing has no target for it."
	case len(v.Deliveries) == 0:
		return "No approver was asked: " + strings.TrimSuffix(show.Ending(v), ".") + ". See approvalbot evaluate --tool " +
			approval.DrillTool + "."
	case v.Status == api.Withdrawn:
		return "No approver decided in time; the drill is withdrawn."
	}
	return "The way back works: " + show.Ending(v) + " after " + after + "."
}

// seconds writes milliseconds as 0.8s or 1m23s.
func seconds(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
