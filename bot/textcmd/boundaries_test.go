package textcmd

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// sickGate cannot look anything up and counts what is marked handled.
type sickGate struct {
	Gate
	people  *people.Directory
	handled int
}

var errLocked = errors.New("database is locked")

func (g *sickGate) ByCode(context.Context, string) (approval.Approval, error) {
	return approval.Approval{}, errLocked
}

func (g *sickGate) Handled(context.Context, approval.InboundRef) error {
	g.handled++
	return nil
}

func (g *sickGate) Refused(context.Context, approval.Voter, string, *approval.InboundRef) error {
	g.handled++
	return nil
}

func (g *sickGate) Rules() core.Rules { return core.Rules{People: g.people} }

// noCards knows no message.
type noCards struct{}

func (noCards) Posted() <-chan struct{} { return nil }

func (noCards) ByMessage(context.Context, approval.Target, string) (approval.Delivery, bool, error) {
	return approval.Delivery{}, false, nil
}

// A look-up that fails is not an answer: the message stays unhandled and is tried
// again, whoever wrote it and however.
func TestAFailedLookUpLeavesTheMessageUnhandled(t *testing.T) {
	people, err := people.NewDirectory(people.Rights{AllowedUsers: map[string][]string{"telegram": {"1"}}})
	require.NoError(t, err)
	for name, m := range map[string]Message{
		"an approver's plain words": {Voter: approval.Voter{UserID: "1"}, Text: "deny K7QX2M"},
		"an approver's command":     {Voter: approval.Voter{UserID: "1"}, Text: "/deny K7QX2M"},
		"a stranger's command":      {Voter: approval.Voter{UserID: "9"}, Text: "/deny K7QX2M"},
		"a tap":                     {Voter: approval.Voter{UserID: "1"}, Text: "/deny K7QX2M", Tap: true, OwnMessage: true, MessageID: "5"},
	} {
		t.Run(name, func(t *testing.T) {
			gate := &sickGate{people: people}
			m.Voter.Channel, m.Chat = "telegram", approval.Target{Channel: "telegram", To: "-5"}
			m.Update = &approval.InboundRef{Source: "telegram:1", ID: 7}
			_, err := NewHandler(gate, nil, noCards{}, nil, func(approval.Target) bool { return true }).Handle(t.Context(), m)
			require.ErrorIs(t, err, errLocked)
			require.Zero(t, gate.handled)
		})
	}
}

// lostGate finds the approval; the store is lost while it votes, and back right after.
type lostGate struct{ sickGate }

func (g *lostGate) ByCode(context.Context, string) (approval.Approval, error) {
	return approval.Approval{
		Names: approval.Names{Key: "k", Code: "K7QX2M"},
		Ended: approval.Ended{Status: approval.Pending},
	}, nil
}

func (g *lostGate) Vote(context.Context, string, core.Ballot) (approval.Approval, error) {
	return approval.Approval{}, approval.Refuse(approval.CodeUnavailable, "The store could not commit, so the change was not written.")
}

// A store that is lost for a moment is no answer: the vote stays unhandled and is
// tried again.
func TestAdversary_P2_AVoteWaitsForTheStore(t *testing.T) {
	people, err := people.NewDirectory(people.Rights{AllowedUsers: map[string][]string{"telegram": {"1"}}})
	require.NoError(t, err)
	gate := &lostGate{sickGate{people: people}}
	m := Message{Voter: approval.Voter{Channel: "telegram", UserID: "1"}, Chat: approval.Target{Channel: "telegram", To: "-5"}, Text: "/deny K7QX2M",
		Update: &approval.InboundRef{Source: "telegram:1", ID: 7}}
	_, err = NewHandler(gate, nil, noCards{}, nil, func(approval.Target) bool { return true }).Handle(t.Context(), m)
	require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err))
	require.Zero(t, gate.handled)
}
