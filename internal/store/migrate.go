package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migrations are the numbered files of the schema, oldest first.
func migrations() fs.FS {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return files
}

// unsafe marks a migration that older programs cannot live with: it is carried out when
// none of them runs, and none starts afterwards. All others are additive: every program
// that knows the newest unsafe one goes on reading and writing, whatever came after it.
const unsafe = "-- approvalbot: unsafe\n"

// needsName is the row of meta that tells older programs which migration they must know
// at least: the newest unsafe one, 0 where there is none.
const needsName = "schema-needs"

// migrate brings the schema up to date, each numbered file in a transaction of
// its own, and gives the version that this program knows. A newer schema stays as it is
// where all that this program does not know of it is additive, and is refused otherwise.
// Of several instances that start at once, one does the work and the others wait. before, if
// not nil, is called with the version of a store that is there and is going to be brought up.
func migrate(
	ctx context.Context, db *sql.DB, d dialect, path string, files fs.FS, before func(have int64) error,
) (int64, error) {
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if d.many {
		turns, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 120))
		if err != nil {
			return 0, err
		}
		options = append(options, goose.WithSessionLocker(turns))
	}
	m, err := goose.NewProvider(d.goose, db, rewritten{files, d.ddl}, options...)
	if err != nil {
		return 0, fmt.Errorf("store %s: migrations cannot be read: %w", path, err)
	}
	have, newest, err := m.GetVersions(ctx)
	if err != nil {
		return 0, fmt.Errorf("store %s: its schema version cannot be read: %w", path, err)
	}
	if have > newest {
		return newest, livesWith(ctx, db, path, have, newest)
	}
	needs, err := newestUnsafe(m.ListSources(), files)
	if err != nil {
		return 0, fmt.Errorf("store %s: %w", path, err)
	}
	if have > 0 && have < needs {
		if err := shutOut(ctx, db, d, needs); err != nil {
			return 0, fmt.Errorf("store %s: %w", path, err)
		}
	}
	if have > 0 && have < newest && before != nil {
		if err := before(have); err != nil {
			return 0, fmt.Errorf("store %s: %w", path, err)
		}
	}
	if _, err := m.Up(ctx); err != nil {
		return 0, fmt.Errorf("store %s: migrating its schema from %d to %d: %w", path, have, newest, err)
	}
	if err := writeNeeds(ctx, db, needs); err != nil {
		return 0, fmt.Errorf("store %s: %w", path, err)
	}
	return newest, nil
}

// livesWith refuses a schema that has an unsafe migration unknown to this program, and
// one that does not say so.
func livesWith(ctx context.Context, db *sql.DB, path string, have, knows int64) error {
	var needs int64
	err := db.QueryRowContext(ctx, `SELECT CAST(value AS BIGINT) FROM meta WHERE name = $1`, needsName).Scan(&needs)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("store %s has schema %d, and what that needs cannot be read: %w", path, have, err)
	}
	if err != nil || needs > knows {
		return fmt.Errorf("store %s has schema %d, and this program knows only up to %d: run the newer program, or "+
			"restore the backup made before it", path, have, knows)
	}
	return nil
}

// newestUnsafe is the number of the newest unsafe migration, 0 where there is none.
func newestUnsafe(sources []*goose.Source, files fs.FS) (needs int64, err error) {
	for _, source := range sources {
		text, err := fs.ReadFile(files, source.Path)
		if err != nil {
			return 0, err
		}
		if strings.Contains(string(text), unsafe) {
			needs = max(needs, source.Version)
		}
	}
	return needs, nil
}

// shutOut makes sure that no program runs, and none starts, that cannot live with a
// migration which is about to be carried out.
func shutOut(ctx context.Context, db *sql.DB, d dialect, needs int64) error {
	if d.many {
		if err := alone(ctx, db, needs); err != nil {
			return err
		}
	}
	return writeNeeds(ctx, db, needs)
}

// alone refuses an unsafe migration as long as an older program runs.
func alone(ctx context.Context, db *sql.DB, needs int64) error {
	running, err := readInstances(ctx, &pool{db: db})
	if err != nil {
		return err
	}
	for _, i := range running {
		if i.Schema < needs {
			return fmt.Errorf("schema %d must not be set up while older programs run, and instance %s (version %q) does: "+
				"stop all instances, then start this one", needs, i.ID, i.Version)
		}
	}
	return nil
}

// writeNeeds says which migration a program must know at least. It never goes down, so
// that of two programs that start at once the older one takes nothing back.
func writeNeeds(ctx context.Context, db *sql.DB, needs int64) error {
	_, err := db.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ($1, $2)
 ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE CAST(meta.value AS BIGINT) < CAST(excluded.value AS BIGINT)`,
		needsName, strconv.FormatInt(needs, 10))
	if err != nil {
		return fmt.Errorf("which programs can live with the schema cannot be noted: %w", err)
	}
	return nil
}

// rewritten are files whose text an engine wants otherwise.
type rewritten struct {
	fs.FS
	text func(string) string // nil: as it is
}

// Open implements fs.FS.
func (r rewritten) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || r.text == nil {
		return f, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return f, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return rewrittenFile{f, strings.NewReader(r.text(string(text)))}, nil
}

type rewrittenFile struct {
	fs.File
	text io.Reader
}

// Read implements fs.File.
func (f rewrittenFile) Read(b []byte) (int, error) { return f.text.Read(b) }
