package routing

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func place(t *testing.T, s string) approval.Target {
	t.Helper()
	p, err := approval.ParseTarget(s)
	require.NoError(t, err)
	return p
}

// A target that is named twice gets one card, however many targets there are.
func TestATargetNamedTwiceIsOne(t *testing.T) {
	for _, n := range []int{2, fewPlaces + 1} {
		var targets []approval.Target
		for i := range n {
			targets = append(targets, approval.Target{Channel: "telegram", To: strconv.Itoa(i + 1)})
		}
		table := Table{Mode: Targets, Targets: slices.Concat(targets, targets)}
		require.Equal(t, targets, table.Route(approval.Approval{}).Targets)
	}
}

func TestRoute(t *testing.T) {
	ops, spare, session := place(t, "telegram:-100:7"), place(t, "discord:42"), place(t, "telegram:-200")
	tests := []struct {
		name     string
		mode     Mode
		origin   *approval.Target
		targets  []approval.Target
		fallback []approval.Target
		want     []approval.Target
		spare    []approval.Target
	}{
		{"targets only", Targets, &session, []approval.Target{ops}, nil, []approval.Target{ops}, nil},
		{"session only", Session, &session, []approval.Target{ops}, nil, []approval.Target{session}, nil},
		{"both, the session first", Both, &session, []approval.Target{ops}, nil, []approval.Target{session, ops}, nil},
		{"session without an origin reaches nobody", Session, nil, []approval.Target{ops}, nil, nil, nil},
		{"one place once", Both, &ops, []approval.Target{ops, ops}, nil, []approval.Target{ops}, nil},
		{"another spelling is no other place", Both, &approval.Target{Channel: "Telegram", To: "-0100", ThreadID: "07"}, []approval.Target{ops}, nil, []approval.Target{ops}, nil},
		{"a fallback that is a target is no fallback", Targets, nil, []approval.Target{ops}, []approval.Target{ops, spare}, []approval.Target{ops}, []approval.Target{spare}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := &Table{Mode: tt.mode, Targets: tt.targets, Fallback: tt.fallback}
			got := table.Route(approval.Approval{Asked: approval.Asked{Origin: tt.origin}})
			require.ElementsMatch(t, tt.want, got.Targets)
			require.ElementsMatch(t, tt.spare, got.Fallback)
		})
	}
}

// A drill tries what only some approvals, or only some troubles, get to.
func TestADrillGoesEverywhereAtOnce(t *testing.T) {
	ops, spare, shield, session := place(t, "telegram:-100:7"), place(t, "discord:42"), place(t, "telegram:-300"), place(t, "telegram:-200")
	table := (&Table{Mode: Both, Targets: []approval.Target{ops}, Fallback: []approval.Target{spare, ops}, AgentShield: []approval.Target{shield}, Drills: []approval.Target{shield}}).After(&Table{})
	got := table.Route(approval.Approval{Asked: approval.Asked{ToolName: approval.DrillTool, Origin: &session}})
	require.Equal(t, []approval.Target{session, ops, shield, spare}, got.Targets)
	require.Empty(t, got.Fallback)
	got = table.Route(approval.Approval{Asked: approval.Asked{ToolName: approval.DrillTool, Dialect: approval.DialectAgentShield}})
	require.Equal(t, []approval.Target{shield}, got.Targets, "a fingerprint cannot say that it is a drill")
}

func TestMovedChatsAreOnePlaceUnderBothNames(t *testing.T) {
	old, super := place(t, "telegram:-5"), place(t, "telegram:-1005")
	table := &Table{Mode: Both, Targets: []approval.Target{old}}
	table.Moved(old, super)
	require.Equal(t, []approval.Target{super}, table.Route(approval.Approval{Asked: approval.Asked{Origin: &super}}).Targets)
	require.True(t, table.Names(super))
	require.True(t, table.Names(old))
	require.False(t, table.Names(place(t, "telegram:-6")))
	next := (&Table{Mode: Both, Targets: []approval.Target{old}}).After(table)
	require.Equal(t, []approval.Target{super}, next.Route(approval.Approval{}).Targets, "a reload knows of moves before it")
	later, latest := place(t, "telegram:-6"), place(t, "telegram:-1006")
	next.Moved(later, latest)
	require.True(t, table.Names(super))
	require.Equal(t, latest, table.now(later), "who still holds the table before hears of moves after it")
}

// What only the verifier's people are asked goes to their chats alone, with no fallback;
// what approvers are asked too goes to both, and stands once in a group that both have.
func TestTheVerifiersChats(t *testing.T) {
	ops, spare, session := place(t, "telegram:-100"), place(t, "discord:42"), place(t, "telegram:-200")
	own := func(to string) approval.Target { return approval.Target{Channel: approval.VerifierChannel, To: to} }
	table := &Table{Mode: Both, Targets: []approval.Target{ops}, Fallback: []approval.Target{spare}}
	route := func(instead string, chats ...approval.Target) core.Routes {
		need := &approval.VerifierNeed{Chats: chats, Instead: instead}
		return table.Route(approval.Approval{
			Asked:  approval.Asked{Origin: &session},
			Judged: approval.Judged{Rule: approval.Rule{Verifier: need}},
		})
	}
	for _, by := range []string{"policy", "grant:1"} {
		got := route(by, own("-300"))
		require.Empty(t, got.Targets)
		require.Empty(t, got.Fallback)
		require.Equal(t, []approval.Target{own("-300")}, got.Verifier)
		require.Equal(t, []approval.Target{ops}, route(by, ops).Verifier, "also where that is a target")
	}
	got := route("", own("-300"))
	require.Equal(t, []approval.Target{session, ops}, got.Targets)
	require.Equal(t, []approval.Target{spare}, got.Fallback)
	require.Equal(t, []approval.Target{own("-300")}, got.Verifier)
	require.Empty(t, route("", ops).Verifier, "the same bot asks once in a chat")
	require.Empty(t, route("", own("-100")).Verifier, "a group needs no second bot's card")

	table.Targets = []approval.Target{place(t, "telegram:5")}
	require.Equal(t, []approval.Target{own("5")}, route("", own("5")).Verifier, "a private chat is each bot's own")
	table.Moved(own("-300"), own("-1300"))
	require.Equal(t, []approval.Target{own("-1300")}, route("", own("-300")).Verifier)
}
