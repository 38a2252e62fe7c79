package textcmd

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// away records that the writer is away, in the words of the command.
func (h *Handler) away(ctx context.Context, m Message, words string) (Reply, bool, error) {
	zone := h.zone(m)
	until, to, err := core.ReadLeave(words, time.Now(), zone)
	if err != nil {
		return Reply{Text: display.UpperFirst(err.Error()) + "; and to NAME, if you have a delegate.", Alert: true}, false, nil
	}
	left, err := h.gate.VoterAway(ctx, m.Voter, to, until.UnixMilli(), m.Update)
	if err != nil {
		return absenceRefused(err)
	}
	return Reply{Long: display.Escape(left.Text(zone))}, true, nil
}

// back records that the writer is back.
func (h *Handler) back(ctx context.Context, m Message) (Reply, bool, error) {
	was, err := h.gate.VoterBack(ctx, m.Voter, m.Update)
	switch {
	case err != nil:
		return absenceRefused(err)
	case !was:
		return Reply{Text: "You were not away."}, true, nil
	}
	return Reply{Text: "Welcome back. Your absence is over, and any delegate of yours no longer says yes in your stead."}, true, nil
}

// absenceRefused answers an absence that the Gate has refused and logged.
func absenceRefused(err error) (Reply, bool, error) {
	refusal := refusalOf(err)
	if refusal == nil {
		return Reply{}, false, err
	}
	text := display.UpperFirst(strings.TrimSuffix(refusal.Message, ".")) + "."
	return Reply{Text: text, Alert: true, Before: errors.Is(err, approval.ErrHandled)}, true, nil
}

// zone is the writer's time zone.
func (h *Handler) zone(m Message) *time.Location {
	people := h.gate.Rules().People
	return cmp.Or(people.Zone(people.Identify(m.Voter).Person), time.UTC)
}
