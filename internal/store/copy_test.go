package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	from := openDisk(t, t.TempDir())
	var keys []string
	for i := range copyPage + 20 {
		a := pendingApproval(fmt.Sprint("owner", i%3))
		if i%5 == 0 {
			a.ID = fmt.Sprint("own-", i)
		}
		keys = append(keys, create(t, from, a, core.Change{Seal: fmt.Append(nil, "call ", i), Aliases: []string{"alias" + a.Key},
			Events:     []approval.Event{event(a, approval.EventRequested)},
			Deliveries: []approval.Delivery{cardTo(fmt.Sprint(i%7), 1, int64(i+1))}}).Key)
	}
	change(t, from, keys[0], func(a approval.Approval) core.Change { return ended(a, approval.Denied) })
	require.NoError(t, from.AddGrant(ctx, approval.Grant{ID: "g1", Owner: "owner1", Kind: approval.AlwaysGrant,
		Fingerprint: "f"}, approval.Event{Type: approval.EventVote}))
	require.NoError(t, from.SaveInbound(ctx, []approval.Inbound{{InboundRef: approval.InboundRef{Source: "telegram:1", ID: 5},
		Body: []byte("{\"a\":\"\xff\"}"), ReceivedMs: 1}}))

	to := openPG(t, pgtest.New(t))
	done, err := Copy(ctx, from, to)
	require.NoError(t, err)
	same(t, from, to, keys)
	require.Equal(t, len(keys), done.Rows["approvals"])
	_, head, err := from.Verify(ctx)
	require.NoError(t, err)
	require.Equal(t, head, done.Head)

	_, err = Copy(ctx, from, to)
	require.ErrorContains(t, err, "is not empty")
	same(t, from, to, keys)

	// And back, into a new file; the desk goes on there.
	back := openDisk(t, t.TempDir())
	_, err = Copy(ctx, to, back)
	require.NoError(t, err)
	same(t, from, back, keys)
	change(t, back, keys[1], func(a approval.Approval) core.Change { return ended(a, approval.Approved) })
	_, _, err = back.Verify(ctx)
	require.NoError(t, err)
}

// same asserts that two stores hold the same.
func same(t *testing.T, from, to *Store, keys []string) {
	t.Helper()
	for i, key := range keys {
		want, err := from.Get(ctx, key)
		require.NoError(t, err)
		got, err := to.Get(ctx, key)
		require.NoError(t, err)
		require.Equal(t, want, got)
		call, err := to.Sealed(ctx, key)
		if i == 0 {
			require.Equal(t, approval.CodeRetryDataGone, approval.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("call ", i), string(call))
	}
	for _, table := range copied {
		require.Equal(t, count(t, from, "SELECT COUNT(*) FROM "+table.table), count(t, to, "SELECT COUNT(*) FROM "+table.table), table.table)
	}
	for _, owner := range []string{"owner0", "owner1", "owner2"} {
		look := core.Lookup{Owner: owner, ID: "alias" + keys[1], Fingerprint: "f", Grants: true}
		require.Equal(t, found(t, from, look), found(t, to, look))
	}
	in, err := to.Inbound(ctx, "telegram:1", 9)
	require.NoError(t, err)
	require.Equal(t, "{\"a\":\"\ufffd\"}", string(in[0].Body))
}

// Copy names every column of the tables that it takes along: one that it does not name would be lost.
func TestCopy_TakesEveryColumn(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	for _, table := range copied {
		var want []string
		rows, err := s.read.query(ctx, "SELECT name FROM pragma_table_info('"+table.table+"')")
		require.NoError(t, err)
		var name text
		require.NoError(t, each(rows, func() error {
			err := rows.Scan(&name)
			want = append(want, string(name))
			return err
		}))
		taken := strings.Fields(strings.ReplaceAll(table.columns, ",", " "))
		for _, name := range want {
			require.True(t, slices.Contains(taken, name), "copy.go does not take column %s of %s", name, table.table)
		}
		require.Len(t, taken, len(want), "copy.go takes a column of %s that is not there", table.table)
	}
}

// What an approval is read from is what its MAC covers: a check of all rows reads one as the other.
func TestApprovalColumns_AreThoseOfTheMAC(t *testing.T) {
	t.Parallel()
	want := append(slices.Clone(marked[0].columns), "mac")
	require.Equal(t, want, strings.Fields(strings.NewReplacer("a.", "", ",", " ").Replace(approvalColumns)))
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	from := openInMemory(t)
	empty := openInMemory(t)
	_, err := Copy(ctx, from, empty)
	require.ErrorContains(t, err, "no data to copy")
	for range 3 {
		require.NoError(t, from.Append(ctx, nil, approval.Event{Type: approval.EventVote}))
	}
	a, b := two(t)
	require.NoError(t, b.beat(ctx))
	_, err = Copy(ctx, from, a)
	require.ErrorContains(t, err, "instance "+b.heartbeat.id)
	require.ErrorContains(t, err, "stop all instances")

	_, err = from.write.db.Exec(`UPDATE events SET data = '{"n":2}' WHERE seq = 2`)
	require.NoError(t, err)
	_, err = Copy(ctx, from, openInMemory(t))
	require.ErrorContains(t, err, "log record 2 was changed")
}
