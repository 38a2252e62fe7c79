package textcmd

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// counter is a gate with one pending approval, which notes what it is asked.
type counter struct {
	Gate
	a       approval.Approval
	rules   core.Rules
	reasons []string
	asked   int
	refused []string
	votes   []approval.Target
	handled int
	card    card.Card
}

func (c *counter) Vote(_ context.Context, _ string, b core.Ballot) (approval.Approval, error) {
	c.votes = append(c.votes, *b.Chat)
	a := c.a
	a.Status, a.Decision = approval.Denied, b.Decision
	return a, nil
}

func (c *counter) AddReason(_ context.Context, key string, v approval.Voter, reason string, _ *approval.InboundRef) (approval.Approval, error) {
	if v.UserID != "1" {
		return c.a, &approval.Error{Code: approval.CodeNotFound, Message: "You did not deny this request, so you cannot give a reason for a denial."}
	}
	c.reasons = append(c.reasons, key+": "+reason)
	return c.a, nil
}

func (c *counter) AskReason(context.Context, string, approval.Target, string, string) error {
	c.asked++
	return nil
}

func (c *counter) Refused(_ context.Context, _ approval.Voter, what string, _ *approval.InboundRef) error {
	c.refused = append(c.refused, what)
	return nil
}

func (c *counter) Handled(context.Context, approval.InboundRef) error { c.handled++; return nil }

func (c *counter) ByCode(_ context.Context, code string) (approval.Approval, error) {
	if code != c.a.Code {
		return approval.Approval{}, &approval.Error{Code: approval.CodeNotFound, Message: "There is no such approval."}
	}
	return c.a, nil
}

func (c *counter) ByKey(context.Context, string) (approval.Approval, error) { return c.a, nil }

func (c *counter) PendingCards(context.Context, int) ([]approval.Approval, error) {
	return []approval.Approval{c.a}, nil
}

func (c *counter) OpenRounds(context.Context, int) ([]approval.Approval, error) { return nil, nil }

func (c *counter) Card(context.Context, approval.Approval) (card.Card, error) { return c.card, nil }

func (c *counter) Rules() core.Rules { return c.rules }

// oneCard finds the one delivery there is.
type oneCard struct{ d approval.Delivery }

func (oneCard) Posted() <-chan struct{} { return nil }

func (o oneCard) ByMessage(_ context.Context, chat approval.Target, id string) (approval.Delivery, bool, error) {
	return o.d, id == o.d.MessageID && chat == o.d.Target.Chat(), nil
}

func flat(id string) approval.Target { return approval.Target{Channel: "discord", To: id} }

// deskAt is a desk whose one card stands at a target, which is configured too.
func deskAt(t *testing.T, at approval.Target) (*Handler, *counter) {
	t.Helper()
	people, err := people.NewDirectory(people.Rights{AllowedUsers: map[string][]string{"discord": {"1", "2"}}})
	require.NoError(t, err)
	card := approval.Delivery{Key: "k", Kind: approval.CardDelivery, Target: at, MessageID: "77", State: approval.Sent}
	gate := &counter{a: approval.Approval{
		Names:   approval.Names{Key: "k", Code: code},
		Ended:   approval.Ended{Status: approval.Pending},
		Asked:   approval.Asked{Summary: "x"},
		Contact: approval.Contact{Deliveries: []approval.Delivery{card}},
	}, rules: core.Rules{People: people}}
	return NewHandler(gate, nil, oneCard{card}, nil, at.Names), gate
}

func from(user string, m Message) Message {
	m.Voter = approval.Voter{Channel: "discord", UserID: user}
	m.Update = &approval.InboundRef{Source: "discord:1", ID: 5}
	return m
}

// A thread has two names; the card's and the configuration's are the ones used.
func TestEitherNameOfAThread(t *testing.T) {
	inThread := Message{Chat: approval.Target{Channel: "discord", To: "10", ThreadID: "20"}, Aka: flat("20")}
	for _, at := range []approval.Target{flat("20"), {Channel: "discord", To: "10", ThreadID: "20"}, flat("10")} {
		desk, gate := deskAt(t, at)
		tap := inThread
		tap.Tap, tap.Text, tap.MessageID, tap.OwnMessage = true, "/deny "+code, "77", true
		r, err := desk.Handle(t.Context(), from("1", tap))
		require.NoError(t, err)
		require.Equal(t, "Denied. The very same call is refused unasked for 10 minutes.", r.Text)
		require.Equal(t, at.Chat(), gate.votes[0].Chat())

		said := inThread
		said.Text = "/deny " + code
		r, err = desk.Handle(t.Context(), from("1", said))
		require.NoError(t, err)
		require.Equal(t, "Denied. The very same call is refused unasked for 10 minutes.", r.Text)
		require.Equal(t, at.Chat(), gate.votes[1].Chat())
	}
}

// A reply to a reminder is one to its card; other messages of the desk name none.
func TestAReplyToAReminder(t *testing.T) {
	for kind, want := range map[approval.DeliveryKind]int{approval.CardDelivery: 1, approval.ReminderDelivery: 1, approval.OutcomeDelivery: 0} {
		_, gate := deskAt(t, flat("10"))
		below := oneCard{approval.Delivery{Key: "k", Kind: kind, Target: flat("10"), MessageID: "78", State: approval.Sent}}
		desk := NewHandler(gate, nil, below, nil, flat("10").Names)
		_, err := desk.Handle(t.Context(), from("1", Message{Chat: flat("10"), Text: "deny", MessageID: "78", OwnMessage: true}))
		require.NoError(t, err)
		require.Len(t, gate.votes, want, kind)
	}
}

// Where the platform has a form, nothing is posted to ask for the reason.
func TestFormsAskForTheReason(t *testing.T) {
	for _, prompts := range []bool{true, false} {
		desk, gate := deskAt(t, flat("10"))
		m := Message{Chat: flat("10"), Tap: true, Text: "/denyreason " + code, MessageID: "77", OwnMessage: true, Prompts: prompts}
		_, err := desk.Handle(t.Context(), from("1", m))
		require.NoError(t, err)
		require.Equal(t, prompts, gate.asked == 0)
	}
}

// A form's reason goes to that person's own deny and nowhere else.
func TestReason(t *testing.T) {
	desk, gate := deskAt(t, flat("10"))
	m := Message{Chat: flat("10"), Text: " too\nrisky ", MessageID: "77", OwnMessage: true}
	r, err := desk.Reason(t.Context(), from("1", m), code)
	require.NoError(t, err)
	require.Equal(t, "Noted.", r.Text)
	require.Equal(t, []string{"k: too risky"}, gate.reasons)
	r, err = desk.Reason(t.Context(), from("2", m), code)
	require.NoError(t, err)
	require.Equal(t, "You did not deny this request, so you cannot give a reason for a denial.", r.Text)
	for _, bad := range []string{"", "x", "000000"} {
		r, err = desk.Reason(t.Context(), from("1", m), bad)
		require.NoError(t, err)
		require.True(t, r.Alert, bad)
	}
	robot := from("1", m)
	robot.NotHuman = "a bot"
	r, err = desk.Reason(t.Context(), robot, code)
	require.NoError(t, err)
	require.Equal(t, notAuthorized, r.Text)
	require.Len(t, gate.reasons, 1)
}

// Codes are suggested to approvers in configured chats only (I13).
func TestAdversary_I13_Choices(t *testing.T) {
	desk, _ := deskAt(t, flat("10"))
	suggest := func(user, typed string, chat approval.Target, direct bool) int {
		out, err := desk.Choices(t.Context(), from(user, Message{Chat: chat, Text: typed, Direct: direct}), 25)
		require.NoError(t, err)
		return len(out)
	}
	require.Equal(t, 1, suggest("1", "", flat("10"), false))
	require.Equal(t, 1, suggest("1", "k7q", flat("10"), false))
	require.Equal(t, 1, suggest("1", "", flat("99"), true))
	require.Zero(t, suggest("1", "", flat("99"), false))
	require.Zero(t, suggest("3", "", flat("10"), false))
	require.Zero(t, suggest("1", "Z", flat("10"), false))
	require.True(t, desk.MayDecide(approval.Voter{Channel: "discord", UserID: "1"}))
	require.False(t, desk.MayDecide(approval.Voter{Channel: "telegram", UserID: "1"}))
}

// What waits is listed with the tool's name.
func TestPendingNamesTheTool(t *testing.T) {
	desk, gate := deskAt(t, flat("10"))
	gate.a.ToolName, gate.a.Summary = "git_push", "params: none"
	r, err := desk.Handle(t.Context(), from("1", Message{Chat: flat("10"), Text: "/pending"}))
	require.NoError(t, err)
	require.Contains(t, r.Long, code+" · R0 · git_push · params: none · until ")
}

// A decision in a reply to one of the bot's messages that is no card gets an answer,
// from approvers; other talk below it, and a stranger's, gets none.
func TestADecisionBelowNoCardIsAnswered(t *testing.T) {
	desk, gate := deskAt(t, flat("10"))
	answer := func(user, text string) Reply {
		r, err := desk.Handle(t.Context(), from(user, Message{Chat: flat("10"), Text: text, MessageID: "88", OwnMessage: true}))
		require.NoError(t, err)
		return r
	}
	for _, text := range []string{"approve", "approve looks fine", "deny not today"} {
		require.Contains(t, answer("1", text).Text, "Your answer was not counted", text)
	}
	require.True(t, answer("1", "thanks").Ignore)
	require.True(t, answer("9", "approve").Ignore)
	require.Empty(t, gate.votes)
	require.Equal(t, 5, gate.handled)
}

// Details keep a script's lines, behind bars, and tell the asker's parameters from the
// desk's own words.
func TestDetailsQuoteWhatIsAsked(t *testing.T) {
	desk, gate := deskAt(t, flat("10"))
	gate.card = card.Card{
		Headline: card.Words{{Text: "main-agent asks to use frob"}}, Why: "R1 local change", Claims: []string{"claimed: “Risk: R0”"},
		Call:    card.Blocks([]card.Fact{{Name: "Votes so far", Value: "2 of 2"}, {Name: "script", Value: "make\nRisk: R0"}, {Name: "bound to host", Value: "prod-1", Own: true}}),
		Details: []card.Fact{{Name: "Tool", Value: "frob", Own: true}, {Name: "Session", Value: "Risk: R0"}},
	}
	r, err := desk.Handle(t.Context(), from("1", Message{Chat: flat("10"), Text: "/show " + code}))
	require.NoError(t, err)
	require.Contains(t, r.Long, "parameter Votes so far: 2 of 2\n\nparameter script:\n1 │ make\n2 │ Risk: R0\n\nbound to host: prod-1\nRisk: R1 local change\n💬 claimed: “Risk: R0”\n")
	require.Contains(t, r.Long, "Tool: frob\n💬 Session: Risk: R0\n")
}
