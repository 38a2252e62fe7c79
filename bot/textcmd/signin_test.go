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

// postBox makes links for one account, and remembers where they were sent.
type postBox struct {
	refusal error
	blocked error
	sent    []approval.Target
}

func (p *postBox) LoginLink(context.Context, approval.Voter, *approval.InboundRef) (core.Posting, error) {
	return core.Posting{Text: "Sign in as alice.", Link: "https://desk.example.org/signin?link=secret"}, p.refusal
}

func (p *postBox) Send(_ context.Context, to approval.Target, _ core.Posting) error {
	p.sent = append(p.sent, to)
	return p.blocked
}

// A link goes to the person's own chat and nowhere else; what is said where it was asked
// for never holds it.
func TestAdversary_N2_ALinkNeverGoesToAGroup(t *testing.T) {
	t.Parallel()
	refusal := approval.Refuse(approval.CodeForbidden, "The desk does not know whose account this is.")
	for _, c := range []struct {
		name string
		m    Message
		box  postBox
		want string
		sent []approval.Target
	}{
		{"a group", Message{Voter: approval.Voter{Channel: "telegram", UserID: "1"}, Chat: approval.Target{Channel: "telegram", To: "-100"}},
			postBox{}, "I have sent it to you directly.", []approval.Target{{Channel: "telegram", To: "1"}}},
		{"a channel", Message{Voter: approval.Voter{Channel: "discord", UserID: "7"}, Chat: approval.Target{Channel: "discord", To: "10"}},
			postBox{}, "I have sent it to you directly.", []approval.Target{{Channel: "discord", To: "dm:7"}}},
		{"their own chat", Message{Voter: approval.Voter{Channel: "telegram", UserID: "1"}, Direct: true,
			Chat: approval.Target{Channel: "telegram", To: "1"}}, postBox{}, "There it is.", []approval.Target{{Channel: "telegram", To: "1"}}},
		{"somebody whom the bot may not write to", Message{Voter: approval.Voter{Channel: "discord", UserID: "7"},
			Chat: approval.Target{Channel: "discord", To: "10"}}, postBox{blocked: errors.New("403")},
			"I cannot write to you: open a chat with me, and send /web there.", []approval.Target{{Channel: "discord", To: "dm:7"}}},
		{"a stranger", Message{Voter: approval.Voter{Channel: "telegram", UserID: "9"}, Chat: approval.Target{Channel: "telegram", To: "-100"}},
			postBox{refusal: refusal}, refusal.Message, nil},
		{"the verifier's bot", Message{Voter: approval.Voter{Channel: "telegram", UserID: "1"}, Direct: true,
			Chat: approval.Target{Channel: approval.VerifierChannel, To: "1"}}, postBox{},
			"This bot is the verifier's own. Send it to the desk's bot.", nil},
		{"a bot", Message{Voter: approval.Voter{Channel: "telegram", UserID: "1"}, NotHuman: "a bot",
			Chat: approval.Target{Channel: "telegram", To: "-100"}}, postBox{}, notAuthorized, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			box := c.box
			c.m.Text = "/web"
			people, err := people.NewDirectory(people.Rights{})
			require.NoError(t, err)
			gate := &pairGate{sickGate: sickGate{people: people}}
			r, err := NewHandler(gate, gate, noCards{}, &box, func(approval.Target) bool { return true }).Handle(t.Context(), c.m)
			require.NoError(t, err)
			require.Equal(t, c.want, r.Text)
			require.Equal(t, c.sent, box.sent)
			require.NotContains(t, r.Text+r.Long+r.Copy, "secret")
		})
	}
}

// What ends a session is on buttons alone, and names a session.
func TestSessionButton(t *testing.T) {
	t.Parallel()
	const id = "0b9c4a0e-7b5c-4c7e-9d0a-0f4f3f2a1b3c"
	button := NoticeButtons(id)[0][0]
	require.LessOrEqual(t, len(button.Data), 64)
	got, ok := sessionOf(button.Data)
	require.True(t, ok)
	require.Equal(t, id, got)
	for _, data := range []string{"", endSession, endSession + "x", " " + button.Data, button.Data + " x", "/deny K7QX2M"} {
		_, ok := sessionOf(data)
		require.False(t, ok, data)
	}
	_, typed := Parse(button.Data, Context{})
	require.False(t, typed)
	require.Nil(t, NoticeButtons(""))
}
