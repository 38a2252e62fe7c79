package store

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func grantFor(n int) (approval.Grant, core.Lookup) {
	print := fmt.Sprint("fp", n)
	g := approval.Grant{ID: fmt.Sprint("g", n), Owner: "bot", AgentID: "main", Kind: approval.AlwaysGrant, Fingerprint: print, CreatedAtMs: nowMs()}
	switch n % 3 {
	case 1:
		g.Kind = approval.CoolDown
	case 2:
		g.Kind, g.Subject, g.SessionKey = approval.SessionGrant, fmt.Sprint("tool", n), "s1"
	}
	return g, core.Lookup{Owner: "bot", AgentID: "main", SessionKey: "s1", Fingerprint: print, Subject: fmt.Sprint("tool", n), Grants: true}
}

// covers reports whether the grant is found, outside of a transaction and in one.
func covers(t *testing.T, s *Store, look core.Lookup) bool {
	t.Helper()
	all, err := s.Covering(ctx, look)
	require.NoError(t, err)
	require.Len(t, found(t, s, look).Grants, len(all))
	return len(all) > 0
}

// Grants are found until they are dropped or expire, also after a restart.
func TestGrantsAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDisk(t, dir)
	for n := range 9 {
		g, look := grantFor(n)
		require.False(t, covers(t, s, look))
		if n >= 6 {
			g.ExpiresAtMs = 1
		}
		require.NoError(t, s.AddGrant(ctx, g, approval.Event{Type: approval.EventVote}))
		require.True(t, covers(t, s, look))
		look.AgentID = "other"
		require.False(t, covers(t, s, look))
	}
	_, err := s.DropGrants(ctx, core.GrantFilter{ID: "g0"}, func(approval.Grant) approval.Event { return approval.Event{Type: approval.EventVote} })
	require.NoError(t, err)
	_, err = s.Sweep(ctx, nowMs(), Keep{})
	require.NoError(t, err)
	check := func(s *Store) {
		for n := range 9 {
			_, look := grantFor(n)
			require.Equal(t, 1 <= n && n < 6, covers(t, s, look), n)
		}
	}
	check(s)
	require.NoError(t, s.Close())
	check(openDisk(t, dir))
}

// The database is asked about a call only if a grant may have its name, when this process alone writes.
func TestCallsWithoutGrantsAreNotLookedUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := openDisk(t, dir)
	kept, ofKept := grantFor(0)
	require.NoError(t, before.AddGrant(ctx, kept, approval.Event{Type: approval.EventVote}))
	require.NoError(t, before.Close())
	s := openDisk(t, dir)
	added, ofAdded := grantFor(1)
	_, ofNone := grantFor(2)
	require.False(t, covers(t, s, ofAdded))
	require.NoError(t, s.AddGrant(ctx, added, approval.Event{Type: approval.EventVote}))
	require.True(t, covers(t, s, ofKept))
	require.True(t, covers(t, s, ofAdded))

	require.NoError(t, s.read.db.Close()) // nothing can be looked up any more
	all, err := s.Covering(ctx, ofNone)
	require.NoError(t, err)
	require.Empty(t, all)
	for _, look := range []core.Lookup{ofKept, ofAdded} {
		_, err = s.Covering(ctx, look)
		require.Error(t, err)
	}
}

// With more names than are remembered, every call is looked up.
func TestTooManyGrantsToRemember(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	_, look := grantFor(0)
	require.False(t, covers(t, s, look))
	for i := range maxGrantNames + 1 {
		s.granted.add("bot", "main", strconv.Itoa(i))
	}
	out, ready := s.granted.exclude(look)
	require.True(t, ready)
	require.False(t, out)
}
