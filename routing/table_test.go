package routing

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

func place(t *testing.T, s string) core.Target {
	t.Helper()
	p, err := core.ParseTarget(s)
	require.NoError(t, err)
	return p
}

func TestRoute(t *testing.T) {
	ops, spare, session := place(t, "telegram:-100:7"), place(t, "discord:42"), place(t, "telegram:-200")
	tests := []struct {
		name     string
		mode     Mode
		origin   *core.Target
		targets  []core.Target
		fallback []core.Target
		want     []core.Target
		spare    []core.Target
	}{
		{"targets only", Targets, &session, []core.Target{ops}, nil, []core.Target{ops}, nil},
		{"session only", Session, &session, []core.Target{ops}, nil, []core.Target{session}, nil},
		{"both, the session first", Both, &session, []core.Target{ops}, nil, []core.Target{session, ops}, nil},
		{"session without an origin reaches nobody", Session, nil, []core.Target{ops}, nil, nil, nil},
		{"one place once", Both, &ops, []core.Target{ops, ops}, nil, []core.Target{ops}, nil},
		{"another spelling is no other place", Both, &core.Target{Channel: "Telegram", To: "-0100", ThreadID: "07"}, []core.Target{ops}, nil, []core.Target{ops}, nil},
		{"a fallback that is a target is no fallback", Targets, nil, []core.Target{ops}, []core.Target{ops, spare}, []core.Target{ops}, []core.Target{spare}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := &Table{Mode: tt.mode, Targets: tt.targets, Fallback: tt.fallback}
			got := table.Route(core.Approval{Origin: tt.origin})
			require.ElementsMatch(t, tt.want, got.Targets)
			require.ElementsMatch(t, tt.spare, got.Fallback)
		})
	}
}

// A drill tries what only some approvals, or only some troubles, get to.
func TestADrillGoesEverywhereAtOnce(t *testing.T) {
	ops, spare, shield, session := place(t, "telegram:-100:7"), place(t, "discord:42"), place(t, "telegram:-300"), place(t, "telegram:-200")
	table := &Table{}
	table.Use(&Table{Mode: Both, Targets: []core.Target{ops}, Fallback: []core.Target{spare, ops}, AgentShield: []core.Target{shield}, Drills: []core.Target{shield}})
	got := table.Route(core.Approval{ToolName: core.DrillTool, Origin: &session})
	require.Equal(t, []core.Target{session, ops, shield, spare}, got.Targets)
	require.Empty(t, got.Fallback)
	got = table.Route(core.Approval{ToolName: core.DrillTool, Dialect: core.DialectAgentShield})
	require.Equal(t, []core.Target{shield}, got.Targets, "a fingerprint cannot say that it is a drill")
}

func TestMovedChatsAreOnePlaceUnderBothNames(t *testing.T) {
	old, super := place(t, "telegram:-5"), place(t, "telegram:-1005")
	table := &Table{Mode: Both, Targets: []core.Target{old}}
	table.Moved(old, super)
	require.Equal(t, []core.Target{super}, table.Route(core.Approval{Origin: &super}).Targets)
	require.True(t, table.Names(super))
	require.True(t, table.Names(old))
	require.False(t, table.Names(place(t, "telegram:-6")))
}

// What only the verifier's people are asked goes to their chats alone, with no fallback;
// what approvers are asked too goes to both, and stands once in a group that both have.
func TestTheVerifiersChats(t *testing.T) {
	ops, spare, session := place(t, "telegram:-100"), place(t, "discord:42"), place(t, "telegram:-200")
	own := func(to string) core.Target { return core.Target{Channel: core.VerifierChannel, To: to} }
	table := &Table{Mode: Both, Targets: []core.Target{ops}, Fallback: []core.Target{spare}}
	route := func(instead string, chats ...core.Target) core.Routes {
		need := &core.VerifierNeed{Chats: chats, Instead: instead}
		return table.Route(core.Approval{Origin: &session, Rule: core.Rule{Verifier: need}})
	}
	for _, by := range []string{"policy", "grant:1"} {
		got := route(by, own("-300"))
		require.Empty(t, got.Targets)
		require.Empty(t, got.Fallback)
		require.Equal(t, []core.Target{own("-300")}, got.Verifier)
		require.Equal(t, []core.Target{ops}, route(by, ops).Verifier, "also where that is a target")
	}
	got := route("", own("-300"))
	require.Equal(t, []core.Target{session, ops}, got.Targets)
	require.Equal(t, []core.Target{spare}, got.Fallback)
	require.Equal(t, []core.Target{own("-300")}, got.Verifier)
	require.Empty(t, route("", ops).Verifier, "the same bot asks once in a chat")
	require.Empty(t, route("", own("-100")).Verifier, "a group needs no second bot's card")

	table.Targets = []core.Target{place(t, "telegram:5")}
	require.Equal(t, []core.Target{own("5")}, route("", own("5")).Verifier, "a private chat is each bot's own")
	table.Moved(own("-300"), own("-1300"))
	require.Equal(t, []core.Target{own("-1300")}, route("", own("-300")).Verifier)
}
