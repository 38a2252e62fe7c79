package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// model is what a store should hold, kept the simplest way.
type model struct {
	approvals map[string]approval.Approval
	names     map[string]string // owner/id -> key
	events    int
}

func (m *model) pending(owner string) (n int) {
	for _, a := range m.approvals {
		if a.Owner == owner && a.Status == approval.Pending {
			n++
		}
	}
	return n
}

// TestModel runs random creates and updates against a model.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open(ctx, Options{URL: "sqlite::memory:"})
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		defer func() {
			require.NoError(t, s.Close())
			require.NoError(t, <-done)
		}()
		m := &model{approvals: map[string]approval.Approval{}, names: map[string]string{}}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) { m.create(t, s) },
			"update": func(t *rapid.T) { m.update(t, s) },
		})
		m.check(t, s)
	})
}

func (m *model) create(t *rapid.T, s *Store) {
	a := pendingApproval(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "owner"))
	a.ID = rapid.SampledFrom([]string{a.ID, "one", "two", "three"}).Draw(t, "id")
	a.Fingerprint = rapid.SampledFrom([]string{"f1", "f2"}).Draw(t, "fingerprint")
	if rapid.Bool().Draw(t, "final") {
		a.Status, a.ResolvedAtMs = approval.Approved, nowMs()
	}
	look := core.Lookup{Owner: a.Owner, ID: a.ID, Fingerprint: a.Fingerprint, AgentID: a.AgentID, SessionKey: a.SessionKey, Code: a.Code}
	known := m.names[a.Owner+"/"+a.ID]
	err := s.Create(ctx, look, func(f core.Existing) ([]core.Change, error) {
		require.Equal(t, m.pending(a.Owner), f.Pending)
		require.Equal(t, known != "", f.ByID != nil)
		same := slices.ContainsFunc(slices.Collect(maps.Values(m.approvals)), func(o approval.Approval) bool {
			return o.Status == approval.Pending && o.Owner == a.Owner && o.Fingerprint == a.Fingerprint
		})
		require.Equal(t, same, f.Same != nil)
		if f.ByID != nil {
			require.Equal(t, m.approvals[known], *f.ByID)
			return []core.Change{{Approval: *f.ByID, Unchanged: true}}, nil
		}
		return []core.Change{{Approval: a, New: true, Events: []approval.Event{event(a, approval.EventRequested)}}}, nil
	})
	require.NoError(t, err)
	if known == "" {
		a.Version = 1
		m.approvals[a.Key], m.names[a.Owner+"/"+a.ID] = a, a.Key
		m.events++
	}
}

func (m *model) update(t *rapid.T, s *Store) {
	keys := slices.Sorted(maps.Keys(m.approvals))
	if len(keys) == 0 {
		t.Skip("nothing there")
	}
	want := m.approvals[rapid.SampledFrom(keys).Draw(t, "key")]
	kind := rapid.SampledFrom([]string{"refused", "unchanged", "reason", "end", "timer"}).Draw(t, "kind")
	reason := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "reason"))
	expires := int64(rapid.IntRange(1, 9).Draw(t, "expires"))
	got, err := s.Update(ctx, want.Key, func(a approval.Approval) (core.Change, error) {
		require.Equal(t, want, a)
		c := core.Change{Events: []approval.Event{event(a, approval.EventVote)}}
		switch kind {
		case "refused":
			return c, approval.Refuse(approval.CodeForbidden, "no")
		case "unchanged":
			c.Unchanged = true
		case "reason":
			a.Reason = reason
		case "timer":
			a.ExpiresAtMs = expires
		case "end":
			a.Status, a.ResolvedAtMs = approval.Denied, nowMs()
		}
		c.Approval = a
		return c, nil
	})
	if kind == "refused" {
		require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
		return
	}
	require.NoError(t, err)
	m.events++
	if kind != "unchanged" {
		want.Version++
		want.Records++
	}
	switch kind {
	case "reason":
		want.Reason = reason
	case "timer":
		want.ExpiresAtMs = expires
	case "end":
		want.Status, want.ResolvedAtMs = approval.Denied, got.ResolvedAtMs
	}
	require.Equal(t, want, got)
	m.approvals[want.Key] = want
}

func (m *model) check(t *rapid.T, s *Store) {
	var due []string
	for key, want := range m.approvals {
		got, err := s.Get(ctx, key)
		require.NoError(t, err)
		require.Equal(t, want, got)
		bare, err := s.Newest(ctx, key)
		require.NoError(t, err)
		got.Deliveries = nil
		require.Equal(t, got, bare)
		if want.Status == approval.Pending && want.ExpiresAtMs <= 9 {
			due = append(due, key)
		}
	}
	page, err := s.List(ctx, core.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Items, min(len(m.approvals), maxPage))
	keys, _, err := s.Due(ctx, 9, 1000)
	require.NoError(t, err)
	require.ElementsMatch(t, due, keys)
	n, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.EqualValues(t, m.events, n)
}
