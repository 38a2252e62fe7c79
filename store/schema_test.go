package store

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/store/pgtest"
)

func TestAnotherKeyIsRefused(t *testing.T) {
	url := pgtest.New(t)
	openPG(t, url)
	o := pgOptions(t, url)
	require.NoError(t, os.WriteFile(o.KeyFile, make([]byte, keySize), 0o600))
	refused(t, o, "holds key", "was sealed with key")
}

// Of several that start on an empty database at once, one makes the schema.
func TestInstancesStartTogether(t *testing.T) {
	url := pgtest.New(t)
	var wg sync.WaitGroup
	for range 3 {
		o := pgOptions(t, url)
		wg.Go(func() {
			s, err := Open(ctx, o)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		})
	}
	wg.Wait()
}

// schemaWith is the schema with one step more.
func schemaWith(t *testing.T, next string) fs.FS {
	t.Helper()
	files := fstest.MapFS{"09999_next.sql": {Data: []byte(next)}}
	steps, err := fs.Glob(migrations(), "*.sql")
	require.NoError(t, err)
	for _, name := range steps {
		text, err := fs.ReadFile(migrations(), name)
		require.NoError(t, err)
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// A program may be one schema ahead of those that run, where the step is safe for
// them; none may be behind.
func TestSchemaSteps(t *testing.T) {
	url := pgtest.New(t)
	s := openPG(t, url)
	require.NoError(t, s.beat(ctx))
	db := openPostgres(s.listen, pgConnector{}, nil).db
	defer db.Close()
	_, err := migrate(ctx, db, postgres, "desk", schemaWith(t, unsafe+"-- +goose Up\nDROP TABLE meta;\n"))
	require.ErrorContains(t, err, "schema 9999 must not be set up while older programs run, and instance "+s.heartbeat.id)
	require.Equal(t, 1, count(t, s, "SELECT COUNT(*) FROM meta"), "nothing was done")

	ahead, err := migrate(ctx, db, postgres, "desk", schemaWith(t, "-- +goose Up\nALTER TABLE approvals ADD COLUMN more TEXT;\n"))
	require.NoError(t, err)
	require.EqualValues(t, 9999, ahead)
	create(t, s, pendingApproval("bot"), core.Change{}) // the older one goes on
	refused(t, pgOptions(t, url), "has schema 9999", "only up to "+fmt.Sprint(s.schema), "run the newer program")
}
