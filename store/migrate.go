package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
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

// unsafe marks a migration that instances of the version before cannot live with:
// it is carried out when none of them runs. All others must leave the schema such
// that the version before goes on reading and writing it.
const unsafe = "-- approvalbot: unsafe\n"

// migrate brings the schema up to date, each numbered file in a transaction of
// its own, and gives its version. There is no way back: a newer schema is refused.
// Of several instances that start at once, one does the work and the others wait.
func migrate(ctx context.Context, db *sql.DB, d dialect, path string, files fs.FS) (int64, error) {
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
		return 0, fmt.Errorf("store %s has schema %d, and this program knows only up to %d: run the newer program, or "+
			"restore the backup made before it", path, have, newest)
	}
	if d.many && have > 0 {
		if err := alone(ctx, db, m.ListSources(), have, files); err != nil {
			return 0, fmt.Errorf("store %s: %w", path, err)
		}
	}
	if _, err := m.Up(ctx); err != nil {
		return 0, fmt.Errorf("store %s: migrating its schema from %d to %d: %w", path, have, newest, err)
	}
	return newest, nil
}

// alone refuses a migration that is unsafe as long as an older program runs.
func alone(ctx context.Context, db *sql.DB, sources []*goose.Source, have int64, files fs.FS) error {
	for _, source := range sources {
		text, err := fs.ReadFile(files, source.Path)
		if err != nil {
			return err
		}
		if source.Version <= have || !strings.Contains(string(text), unsafe) {
			continue
		}
		running, err := readInstances(ctx, &pool{db: db})
		if err != nil {
			return err
		}
		for _, i := range running {
			if i.Schema < source.Version {
				return fmt.Errorf("schema %d must not be set up while older programs run, and instance %s (version %q) does: "+
					"stop all instances, then start this one", source.Version, i.ID, i.Version)
			}
		}
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
