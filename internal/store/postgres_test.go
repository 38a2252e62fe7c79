package store

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

func TestPostgresSettings(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	u := mustURL(t, address)
	u.RawQuery = "target_session_attrs=read-write&" + u.RawQuery // of two servers that which is not the standby
	s := openPG(t, u.String())
	var name string
	require.ErrorContains(t, s.read.db.QueryRow("DELETE FROM meta RETURNING name").Scan(&name), "read-only")
	_, err := s.read.db.Exec("ALTER DATABASE " + strings.Trim(mustURL(t, address).Path, "/") + " SET synchronous_commit = off")
	require.ErrorContains(t, err, "read-only")
	db := openPostgres(s.listen, pgConnector{}, nil).db
	defer db.Close()
	_, err = db.Exec("ALTER DATABASE " + strings.Trim(mustURL(t, address).Path, "/") + " SET synchronous_commit = off")
	require.NoError(t, err)

	other := openPG(t, address)
	require.NoError(t, other.do(ctx, func(tx *tx) error {
		for setting, want := range map[string]string{"synchronous_commit": "on", "lock_timeout": "500ms",
			"statement_timeout": "3s", "transaction_isolation": "read committed"} {
			rows, err := tx.rows("SELECT current_setting($1)", setting)
			require.NoError(t, err)
			var got text
			_, err = one(rows, &got)
			require.NoError(t, err)
			require.Equal(t, want, string(got), setting)
		}
		return nil
	}))
}

func mustURL(t *testing.T, s string) *url.URL {
	u, err := url.Parse(s)
	require.NoError(t, err)
	return u
}

// What PostgreSQL cannot store is refused as the asker's mistake, and takes none of
// its neighbours with it.
func TestPostgresText(t *testing.T) {
	t.Parallel()
	s := openPG(t, pgtest.New(t))
	for _, odd := range []string{"a\x00b", "a\xffb"} {
		_, err := s.Keys(ctx, core.NameQuery{ID: odd})
		require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
		_, err = s.Update(ctx, odd, vote)
		require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
		a := pendingApproval("bot")
		a.SessionKey = odd
		err = s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) {
			return []core.Change{{Approval: a, New: true}}, nil
		})
		require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
		require.Error(t, s.Append(ctx, nil, approval.Event{AtMs: 1, Type: approval.EventVote, Owner: odd}))
		require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{{InboundRef: approval.InboundRef{Source: "x", ID: int64(len(odd))}, Body: []byte(odd)}}))
	}
	create(t, s, pendingApproval("bot"), core.Change{})
}

// No error tells the password.
func TestPostgresUnreachable(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://desk:hunter2@127.0.0.1:1/desk", "postgresql://desk:hunter2@host:x/desk",
		"postgres://desk:hunter2@/desk?host=/nowhere", "postgres://desk:hunt%zzer2@host/desk",
	} {
		o := pgOptions(t, address)
		s, err := Open(ctx, o)
		require.Nil(t, s)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunt")
	}
}

// The order of names is that of their bytes, whatever the database's own is.
func TestPostgresOrder(t *testing.T) {
	t.Parallel()
	s := openPG(t, pgtest.New(t))
	var first string
	require.NoError(t, s.read.db.QueryRow("SELECT * FROM (VALUES ('a'), ('B')) v (x) ORDER BY x LIMIT 1").Scan(&first))
	require.Equal(t, "a", first, "the test server's own order is not that of bytes")
	for _, key := range []string{"BBBBBBBB", "aaaaaaaa"} {
		a := pendingApproval("bot")
		a.Key, a.ID, a.Code, a.CreatedAtMs = key, "id"+key, core.KeyCode(key), 5
		create(t, s, a, core.Change{})
	}
	page, err := s.List(ctx, core.Filter{})
	require.NoError(t, err)
	require.Equal(t, "aaaaaaaa", page.Items[0].Key)
}

// The connection that writes is lost between two commits: nobody hears of it.
func TestPostgresConnectionLost(t *testing.T) {
	t.Parallel()
	s := openPG(t, pgtest.New(t))
	a := create(t, s, pendingApproval("bot"), core.Change{})
	for range 3 {
		// Until it is gone.
		count(t, s, "SELECT COUNT(pg_terminate_backend(pid, 2000)) FROM pg_stat_activity WHERE datname = "+
			"current_database() AND pid <> pg_backend_pid()")
		_, err := s.Update(ctx, a.Key, vote)
		require.NoError(t, err)
		_, err = s.Get(ctx, a.Key)
		require.NoError(t, err)
	}
	n, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.Equal(t, 3, n)
}

// Reach says what Open would, and makes nothing.
func TestReach(t *testing.T) {
	t.Parallel()
	o := pgOptions(t, pgtest.New(t))
	for range 2 {
		r, err := Reach(ctx, o)
		require.NoError(t, err)
		require.True(t, r.New)
		require.Regexp(t, `^\d+\.\d+`, r.Version)
	}
	s, err := Open(ctx, o)
	require.NoError(t, err)
	start(t, s)
	r, err := Reach(ctx, o)
	require.NoError(t, err)
	require.False(t, r.New)
	require.NoError(t, os.WriteFile(o.KeyFile, []byte(strings.Repeat("0b", keySize)), 0o600))
	r, err = Reach(ctx, o)
	require.ErrorContains(t, err, "but this store was sealed with key "+s.keys.id)
	require.NotEmpty(t, r.Version)

	// Every way that was tried says the same, and it is said once, without the URL.
	_, err = Reach(ctx, Options{URL: "postgres://me:hunter2@127.0.0.1:1/desk"})
	require.ErrorContains(t, err, "connection refused; start PostgreSQL, or correct store.url")
	require.Equal(t, 1, strings.Count(err.Error(), "127.0.0.1:1 "), err.Error())
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "hunter2")
}
