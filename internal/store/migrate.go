package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
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
// no such program runs, and afterwards such a program refuses to start. All others are
// additive: every program that knows the newest unsafe one goes on reading and writing
// after later ones.
const unsafe = "-- approvalbot: unsafe\n"

// needsName is the row of meta that tells older programs which migration they must know
// at least: the newest unsafe one; 0: any program will do.
const needsName = "schema-needs"

// migrate brings the schema up to date, each numbered file in a transaction of
// its own, and gives the version that this program knows. A newer schema stays as it is if all that
// this program does not know of it is additive, and is refused otherwise. Of several instances that
// start at once, one does the work and the others wait. before, if not nil, is called with the
// version of a store that is there and is going to be brought up.
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
	all, needs, err := steps(files, d.ddl)
	if err != nil {
		return 0, fmt.Errorf("store %s: migrations cannot be read: %w", path, err)
	}
	m, err := goose.NewProvider(d.goose, db, nil, append(options, goose.WithGoMigrations(all...))...)
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
		return 0, fmt.Errorf("store %s: its schema cannot be migrated from %d to %d: %w", path, have, newest, err)
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
		return fmt.Errorf("store %s has schema %d, but the note which versions work with that schema cannot be read: "+
			"%w", path, have, err)
	}
	if err != nil || needs > knows {
		return fmt.Errorf("store %s has schema %d, but this program knows only schemas up to %d: run a newer version "+
			"of approvalbot, or restore the backup made before the upgrade", path, have, knows)
	}
	return nil
}

// steps are the numbered files of a schema, oldest first, in the words of an engine, and the number
// of the newest unsafe one, 0 if all are additive. The engine is given each file whole: goose's own
// reader of files takes a buffer of 4 MiB for each line, from a pool that forgets every fourth
// under the race detector, which cost a third of the time of a desk's tests.
func steps(files fs.FS, ddl func(string) string) (all []*goose.Migration, needs int64, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		read, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, 0, err
		}
		text := string(read)
		if strings.Contains(text, unsafe) {
			needs = max(needs, version)
		}
		if ddl != nil {
			text = ddl(text)
		}
		all = append(all, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}}, nil))
	}
	return all, needs, nil
}

// shutOut makes sure that no program runs or starts that cannot live with a migration
// which is about to be carried out.
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
			return fmt.Errorf("schema %d must not be set up while older programs run, but instance %s (version %q) "+
				"is older: "+
				"stop all instances, then start this one", needs, i.ID, i.Version)
		}
	}
	return nil
}

// writeNeeds says which migration a program must know at least. It never goes down, so
// that of two programs that start at once, the older one does not lower it.
func writeNeeds(ctx context.Context, db *sql.DB, needs int64) error {
	_, err := db.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ($1, $2)
 ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE CAST(meta.value AS BIGINT) < CAST(excluded.value AS BIGINT)`,
		needsName, strconv.FormatInt(needs, 10))
	if err != nil {
		return fmt.Errorf("the note which versions work with this schema cannot be stored: %w", err)
	}
	return nil
}
