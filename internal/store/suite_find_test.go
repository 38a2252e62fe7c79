package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// found looks up and changes nothing.
func found(t *testing.T, s *Store, look core.Lookup) (f core.Existing) {
	t.Helper()
	require.NoError(t, s.Create(ctx, look, func(got core.Existing) ([]core.Change, error) { f = got; return nil, nil }))
	return f
}

func testLookup(t *testing.T, s *Store) {
	a := pendingApproval("bot")
	a.ID = "deploy-1"
	a = create(t, s, a, core.Change{Aliases: []string{"alias-1", "alias-1"}, Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	other := create(t, s, pendingApproval("other"), core.Change{})

	for _, id := range []string{"deploy-1", "alias-1"} {
		require.Equal(t, &a, found(t, s, core.Lookup{Owner: "bot", ID: id}).ByID)
		require.Equal(t, &a, found(t, s, core.Lookup{Owner: "bot", Supersedes: id}).Superseded)
		require.Nil(t, found(t, s, core.Lookup{Owner: "other", ID: id}).ByID)
	}
	require.Nil(t, found(t, s, core.Lookup{Owner: "bot", ID: a.Key}).ByID, "the owner's id replaced the key")

	for _, id := range []string{other.Code, strings.ToLower(other.Code), other.Key, strings.ToUpper(other.Key[:8]), other.Key[:20], a.Code} {
		require.True(t, found(t, s, core.Lookup{Owner: "bot", ID: id}).Another, id)
	}
	for _, id := range []string{"", "deploy-1", "alias-1", other.Key[:7], other.Key + "0", "x" + other.Key[:8],
		"NOBODY", "000000", "00000000"} {
		require.False(t, found(t, s, core.Lookup{Owner: "bot", ID: id}).Another, id)
	}

	same := core.Lookup{Owner: "bot", Fingerprint: a.Fingerprint, AgentID: "main", SessionKey: "s1"}
	require.Equal(t, []approval.Approval{a}, found(t, s, same).Same)
	for _, differs := range []func(*core.Lookup){
		func(l *core.Lookup) { l.Owner = "other" }, func(l *core.Lookup) { l.Fingerprint = "x" },
		func(l *core.Lookup) { l.AgentID = "" }, func(l *core.Lookup) { l.SessionKey = "" },
	} {
		l := same
		differs(&l)
		require.Empty(t, found(t, s, l).Same)
	}
	var newer []approval.Approval
	for _, age := range []int64{day, 2 * day, 0, 3 * day} {
		again := pendingApproval("newer")
		again.Fingerprint, again.CreatedAtMs = "same", nowMs()-age
		again = create(t, s, again, core.Change{})
		newer = append(newer, again)
		slices.SortFunc(newer, func(a, b approval.Approval) int { return cmp.Compare(b.CreatedAtMs, a.CreatedAtMs) })
		require.Equal(t, newer, found(t, s, core.Lookup{Owner: "newer", Fingerprint: "same", AgentID: "main", SessionKey: "s1"}).Same)
	}
	require.Equal(t, 1, found(t, s, core.Lookup{Owner: "bot"}).Pending)
	require.Equal(t, 0, found(t, s, core.Lookup{Owner: "nobody"}).Pending)

	require.Same(t, core.ErrCodeTaken, tryTwin(s, a))
	change(t, s, a.Key, func(a approval.Approval) core.Change { return ended(a, approval.Denied) })
	require.Empty(t, found(t, s, same).Same, "it has ended")
	require.Equal(t, 0, found(t, s, core.Lookup{Owner: "bot"}).Pending)
	require.Same(t, core.ErrCodeTaken, tryTwin(s, a), "it has ended")
	require.NotEqual(t, other.Code, a.Code)
}

// What is approved and waits to be claimed is found as long as it may be.
func testUnclaimed(t *testing.T, s *Store) {
	a := pendingApproval("bot")
	a.Fingerprint = "same"
	a = create(t, s, a, core.Change{})
	until := nowMs() + day
	look := core.Lookup{Owner: "bot", Fingerprint: "same", AgentID: "main", SessionKey: "s1", ResumeMs: nowMs()}
	require.Empty(t, found(t, s, look).Unclaimed, "it is pending")
	change(t, s, a.Key, func(a approval.Approval) core.Change {
		c := ended(a, approval.Approved)
		c.Approval.Decision, c.Approval.ClaimUntilMs = approval.AllowOnce, until
		return c
	})
	require.Equal(t, a.Key, found(t, s, look).Unclaimed[0].Key)
	for _, differs := range []func(*core.Lookup){
		func(l *core.Lookup) { l.Owner = "other" }, func(l *core.Lookup) { l.Fingerprint = "x" }, func(l *core.Lookup) { l.AgentID = "" },
		func(l *core.Lookup) { l.SessionKey = "" }, func(l *core.Lookup) { l.ResumeMs = 0 }, func(l *core.Lookup) { l.ResumeMs = until },
	} {
		l := look
		differs(&l)
		require.Empty(t, found(t, s, l).Unclaimed)
	}
	for _, claimed := range []int64{nowMs() + day, nowMs()} { // by a clock that is ahead, and by this one
		change(t, s, a.Key, func(a approval.Approval) core.Change {
			a.ClaimedAtMs = claimed
			return core.Change{Approval: a}
		})
		require.Empty(t, found(t, s, look).Unclaimed, "it was claimed")
	}
}

// tryTwin tries to store an approval with the code of another.
func tryTwin(s *Store, of approval.Approval) error {
	return s.Create(ctx, core.Lookup{Owner: "bot", Code: of.Code}, func(core.Existing) ([]core.Change, error) {
		return []core.Change{{Approval: twin(pendingApproval("bot"), of), New: true}}, nil
	})
}

func testNames(t *testing.T, s *Store) {
	a, b, own := pendingApproval("bot"), pendingApproval("bot"), pendingApproval("bot")
	for i, x := range []*approval.Approval{&a, &b, &own} {
		x.Key = fmt.Sprintf("aaaaaa%d0-0000-4000-8000-000000000001", i+1)
		x.ID, x.Code = x.Key, core.KeyCode(x.Key)
	}
	own.ID = "mine"
	other := pendingApproval("other")
	other.ID = "mine"
	for _, x := range []approval.Approval{a, b, own, other} {
		create(t, s, x, core.Change{})
	}
	keys := func(q core.NameQuery) (got []string) {
		found, err := s.Keys(ctx, q)
		require.NoError(t, err)
		for _, n := range found {
			got = append(got, n.By+" "+n.Key)
		}
		return got
	}
	require.Equal(t, []string{"id " + own.Key}, keys(core.NameQuery{Owner: "bot", ID: "mine"}))
	require.ElementsMatch(t, []string{"id " + own.Key, "id " + other.Key}, keys(core.NameQuery{ID: "mine"}))
	require.Equal(t, []string{"code " + own.Key}, keys(core.NameQuery{Code: own.Code}))
	require.Equal(t, []string{"prefix " + a.Key, "prefix " + b.Key}, keys(core.NameQuery{Prefix: "aaaaaa"}), "own has an id of its own")
	require.Equal(t, []string{"prefix " + a.Key}, keys(core.NameQuery{Prefix: a.Key}))
	require.Equal(t, []string{"id " + a.Key, "prefix " + b.Key}, keys(core.NameQuery{ID: a.ID, Code: a.Code, Prefix: "aaaaaa"}), "each once")
	require.Empty(t, keys(core.NameQuery{Prefix: "aaaa%"}))
	require.Empty(t, keys(core.NameQuery{ID: "nobody", Code: "000000", Prefix: "ffffffff"}))
	require.Empty(t, keys(core.NameQuery{}))
}

func testList(t *testing.T, s *Store) {
	var all []approval.Approval
	for i := range 25 {
		a := pendingApproval(fmt.Sprint("owner", i%2))
		a.CreatedAtMs = int64(1000 + i/3) // several in one moment
		a.AgentID, a.SessionKey, a.ToolName = fmt.Sprint("agent", i%3), fmt.Sprint("session", i%4), fmt.Sprint("tool", i%5)
		a.Assessment.RiskClass = approval.RiskClass(i % 5)
		if i%6 == 0 {
			a.Status, a.ResolvedAtMs = approval.Denied, 2000
		}
		all = append(all, create(t, s, a, core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1), cardTo("2", 1, 2)}}))
	}
	slices.SortFunc(all, func(a, b approval.Approval) int {
		if a.CreatedAtMs != b.CreatedAtMs {
			return int(b.CreatedAtMs - a.CreatedAtMs)
		}
		return strings.Compare(b.Key, a.Key)
	})
	r3 := approval.R3
	for _, f := range []core.Filter{
		{}, {Owner: "owner1"}, {Status: approval.Pending}, {Status: approval.Denied}, {Status: approval.Approved}, {AgentID: "agent2"},
		{SessionKey: "session3"}, {ToolName: "tool4"},
		{Owner: "owner0", Status: approval.Pending}, {Owner: "owner1", Status: approval.Pending, AgentID: "agent1",
			SessionKey: "session1", ToolName: "tool2"},
		{AgentID: "agent2", ToolName: "tool1"}, {Owner: "owner1", SessionKey: "none"}, {Status: approval.Denied, ToolName: "tool1"},
		{Status: approval.Pending, Risk: &r3}, {BeforeMs: 1005}, {BeforeMs: 1005, ToolName: "tool1"}, {Status: "no'such"}, {Status: approval.Expired, AgentID: "agent0"},
	} {
		var want, got []approval.Approval
		for _, a := range all {
			if (f.Owner == "" || f.Owner == a.Owner) && (f.Status == "" || f.Status == a.Status) && (f.AgentID == "" || f.AgentID == a.AgentID) &&
				(f.Risk == nil || *f.Risk == a.Assessment.RiskClass) && (f.BeforeMs == 0 || a.CreatedAtMs < f.BeforeMs) && (f.SessionKey == "" || f.SessionKey == a.SessionKey) && (f.ToolName == "" || f.ToolName == a.ToolName) {
				want = append(want, a)
			}
		}
		for f.Limit = 4; ; {
			page, err := s.List(ctx, f)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Items), 4)
			got = append(got, page.Items...)
			if page.Next == "" {
				break
			}
			f.Cursor = page.Next
		}
		require.Equal(t, want, got, "%+v", f)
	}
	page, err := s.List(ctx, core.Filter{Limit: 25})
	require.NoError(t, err)
	require.Empty(t, page.Next)
	_, err = s.List(ctx, core.Filter{Cursor: "zzz"})
	require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
}

func testTimers(t *testing.T, s *Store) {
	at := func(expires, fallback int64) approval.Approval {
		a := pendingApproval("bot")
		a.ExpiresAtMs, a.FallbackAtMs = expires, fallback
		return create(t, s, a, core.Change{})
	}
	a, b, c := at(300, 0), at(500, 100), at(200, 400)
	due := func(now int64, limit int) (names []string, next int64) {
		keys, next, err := s.Due(ctx, now, limit)
		require.NoError(t, err)
		for _, k := range keys {
			names = append(names, map[string]string{a.Key: "a", b.Key: "b", c.Key: "c"}[k])
		}
		return names, next
	}
	check := func(now int64, limit int, want string, wantNext int64) {
		t.Helper()
		names, next := due(now, limit)
		require.Equal(t, want, strings.Join(names, ""))
		require.Equal(t, wantNext, next)
	}
	check(99, 10, "", 100)
	check(100, 10, "b", 200)
	check(300, 10, "bca", 0)
	check(300, 2, "bc", 300)

	change(t, s, b.Key, func(b approval.Approval) core.Change { b.FallbackAtMs = 0; return core.Change{Approval: b} })
	check(300, 10, "ca", 500)
	change(t, s, a.Key, func(a approval.Approval) core.Change { return ended(a, approval.Expired) })
	check(1000, 10, "cb", 0)
	change(t, s, b.Key, func(b approval.Approval) core.Change {
		b.ExpiresAtMs = 150
		return core.Change{Approval: b, Unchanged: true}
	})
	check(150, 10, "", 200)
}

// An approval that is judged again is found by its new class.
func testListByRisk(t *testing.T, s *Store) {
	a := pendingApproval("bot")
	a.Assessment.RiskClass = approval.R2
	create(t, s, a, core.Change{})
	change(t, s, a.Key, func(a approval.Approval) core.Change {
		a.Assessment.RiskClass = approval.R4
		return core.Change{Approval: a, Events: []approval.Event{event(a, approval.EventVote)}}
	})
	for class, n := range map[approval.RiskClass]int{approval.R2: 0, approval.R4: 1} {
		page, err := s.List(ctx, core.Filter{Status: approval.Pending, Risk: &class})
		require.NoError(t, err)
		require.Len(t, page.Items, n, class)
	}
}
