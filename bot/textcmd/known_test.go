package textcmd

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// pairGate notes which codes it is given; one is right.
type pairGate struct {
	sickGate
	Door
	given []signin.PairingWho
}

func (g *pairGate) Pair(_ context.Context, _ approval.Voter, code string, who signin.PairingWho, _ *approval.InboundRef) (bool, error) {
	g.given = append(g.given, who)
	return code == "K7QX2M4P", nil
}

func (g *pairGate) Handled(context.Context, approval.InboundRef) error { return nil }

// /pair is for people anywhere that the desk can send cards to, and gives it the
// chat, the account and what that is called, in one line of bounded length.
func TestPair(t *testing.T) {
	people, err := people.NewDirectory(people.Rights{})
	require.NoError(t, err)
	topic := approval.Target{Channel: "telegram", To: "-5", ThreadID: "7"}
	for name, tt := range map[string]struct {
		m     Message
		says  string
		given bool
	}{
		"right":              {Message{Chat: topic, Text: "/pair K7QX2M4P", Name: "A\nB"}, pairedText, true},
		"wrong":              {Message{Chat: topic, Text: "/pair 00000000"}, "That code is not right.", true},
		"no code at all":     {Message{Chat: topic, Text: "/pair lots of words"}, "That code is not right.", true},
		"nothing":            {Message{Chat: topic, Text: "/pair"}, "Send /pair with the code that approvalbot pair shows at the desk.", false},
		"the verifier's bot": {Message{Chat: approval.Target{Channel: approval.VerifierChannel, To: "-5"}, Text: "/pair K7QX2M4P"}, "This bot is the verifier's own. Send it to the desk's bot.", false},
	} {
		t.Run(name, func(t *testing.T) {
			gate := &pairGate{sickGate: sickGate{people: people}}
			tt.m.Voter = approval.Voter{Channel: "telegram", UserID: "1"}
			r, err := NewHandler(gate, gate, noCards{}, nil, func(approval.Target) bool { return true }).Handle(t.Context(), tt.m)
			require.NoError(t, err)
			require.Equal(t, tt.says, r.Text)
			require.Equal(t, tt.given, len(gate.given) == 1)
			if tt.m.Name != "" {
				require.Equal(t, signin.PairingWho{Chat: topic, UserID: "1", Name: "A B"}, gate.given[0])
			}
		})
	}
}

// The line of /whoami names a topic, which a chat's number alone does not, and the
// platform whichever of its bots is asked.
func TestWhoAmINamesTopics(t *testing.T) {
	v := approval.Voter{Channel: "telegram", UserID: "1"}
	require.Equal(t, "TELEGRAM_CHAT_ID=-5 TELEGRAM_USER_ID=1", variables(v, approval.Target{Channel: "telegram", To: "-5"}))
	require.Equal(t, "TELEGRAM_CHAT_ID=telegram:-5:7 TELEGRAM_USER_ID=1", variables(v, approval.Target{Channel: approval.VerifierChannel, To: "-5", ThreadID: "7"}))
	v.Channel = "discord"
	require.Equal(t, "DISCORD_CHANNEL_ID=dm:1 DISCORD_USER_ID=1", variables(v, approval.Target{Channel: "discord", To: "dm:1"}))
}
