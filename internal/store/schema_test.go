package store

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/store/pgtest"
)

func TestAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	openPG(t, url)
	o := pgOptions(t, url)
	require.NoError(t, os.WriteFile(o.KeyFile, make([]byte, keySize), 0o600))
	refused(t, o, "holds key", "was sealed with key")
}

// Of several that start on an empty database at once, one makes the schema.
func TestInstancesStartTogether(t *testing.T) {
	t.Parallel()
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

// schemaWith is the schema with further steps.
func schemaWith(t *testing.T, next ...string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for i, step := range next {
		files[fmt.Sprintf("%05d_next.sql", newest(t)+1+i)] = &fstest.MapFile{Data: []byte(step)}
	}
	for _, name := range names(t) {
		text, err := fs.ReadFile(migrations(), name)
		require.NoError(t, err)
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

func names(t *testing.T) []string {
	t.Helper()
	all, err := fs.Glob(migrations(), "*.sql")
	require.NoError(t, err)
	return all
}

// newest is the version of the schema.
func newest(t *testing.T) (n int) {
	t.Helper()
	all := names(t)
	_, err := fmt.Sscanf(all[len(all)-1], "%d_", &n)
	require.NoError(t, err)
	return n
}

// A newer program sets up a schema that older ones live with while they run, and they
// start on it again. One that they cannot live with waits until none runs, and from then
// on none starts.
func TestSchemaSteps(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := openPG(t, url)
	require.NoError(t, s.beat(ctx))
	db := openPostgres(s.listen, pgConnector{}, nil).db
	defer db.Close()
	takesAway := schemaWith(t, unsafe+"-- +goose Up\nALTER TABLE approvals DROP COLUMN tool_name;\n")
	_, err := migrate(ctx, db, postgres, "desk", takesAway, nil)
	require.ErrorContains(t, err, fmt.Sprintf("schema %d must not be set up while older programs run, but instance %s",
		newest(t)+1, s.heartbeat.id))
	create(t, s, pendingApproval("bot"), core.Change{}) // nothing was done

	ahead, err := migrate(ctx, db, postgres, "desk", schemaWith(t, additive), nil)
	require.NoError(t, err)
	require.EqualValues(t, newest(t)+1, ahead)
	create(t, s, pendingApproval("bot"), core.Change{}) // the older one goes on
	openAndClose(t, pgOptions(t, url), func(s *Store) { create(t, s, pendingApproval("bot"), core.Change{}) })
}

const additive = "-- +goose Up\nALTER TABLE approvals ADD COLUMN more TEXT;\n"

// An older program serves on with what is additive, and not with what is unsafe, also
// when an additive one follows that.
func TestSchemaSteps_OlderProgramOnAFile(t *testing.T) {
	t.Parallel()
	o := fileOptions(t.TempDir())
	openAndClose(t, o, func(s *Store) { create(t, s, pendingApproval("bot"), core.Change{}) })
	upgrade := func(next ...string) {
		t.Helper()
		write, read, err := openFile(strings.TrimPrefix(o.URL, "sqlite:"))
		require.NoError(t, err)
		defer write.db.Close()
		defer read.db.Close()
		_, err = migrate(ctx, write.db, sqlite, "desk", schemaWith(t, next...), nil)
		require.NoError(t, err)
	}
	upgrade(additive)
	openAndClose(t, o, func(s *Store) {
		require.EqualValues(t, newest(t), s.schema, "what other programs are told of it is what it knows")
		create(t, s, pendingApproval("bot"), core.Change{})
	})
	upgrade(additive, unsafe+"-- +goose Up\nALTER TABLE approvals DROP COLUMN more;\n",
		"-- +goose Up\nCREATE TABLE more (x TEXT);\n")
	refused(t, o, fmt.Sprintf("has schema %d", newest(t)+3), fmt.Sprintf("only schemas up to %d", newest(t)),
		"run a newer version")
}

// What is not marked unsafe takes nothing away that an older program could use; an index that it makes anew
// costs that program time alone.
func TestMigrations_AreAdditiveUnlessMarked(t *testing.T) {
	t.Parallel()
	takes := regexp.MustCompile(`(?i)\b(DROP (TABLE|COLUMN|INDEX)|RENAME|ALTER COLUMN)\b`)
	dropped := regexp.MustCompile(`DROP INDEX (\w+);\nCREATE INDEX (\w+) `)
	for _, name := range names(t) {
		text, err := fs.ReadFile(migrations(), name)
		require.NoError(t, err)
		if !strings.Contains(string(text), unsafe) {
			text = dropped.ReplaceAllFunc(text, func(both []byte) []byte {
				m := dropped.FindSubmatch(both)
				require.Equal(t, string(m[1]), string(m[2]), name)
				return nil
			})
			require.NotRegexp(t, takes, string(text), "%s: older programs serve on with it, or its first line is %q", name, unsafe)
		}
	}
}

var update = flag.Bool("update", false, "note the hashes of new migrations; those that are noted stay")

// A migration that was released never changes: testdata/migrations.sha256 has its hash, as
// sha256sum writes it. A new migration may change until its line is in, which -update adds
// before a release.
func TestMigrations_ReleasedStayAsTheyAre(t *testing.T) {
	t.Parallel()
	const golden = "testdata/migrations.sha256"
	noted, err := os.ReadFile(golden)
	require.NoError(t, err)
	all := names(t)
	if *update {
		for _, name := range all[strings.Count(string(noted), "\n"):] {
			noted = append(noted, migrationLine(t, name)...)
		}
		require.NoError(t, os.WriteFile(golden, noted, 0o644))
	}
	lines := slices.Collect(strings.Lines(string(noted)))
	require.NotEmpty(t, lines)
	require.LessOrEqual(t, len(lines), len(all), "a released migration is gone")
	for i, line := range lines {
		require.Equal(t, line, migrationLine(t, all[i]), "%s is released: write another migration", all[i])
	}
}

func migrationLine(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(migrations(), name)
	require.NoError(t, err)
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(text), name)
}
