package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date, each numbered file in a transaction of
// its own. There is no way back: a newer schema is refused.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	m, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("store %s: migrations cannot be read: %w", path, err)
	}
	have, newest, err := m.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("store %s: its schema version cannot be read: %w", path, err)
	}
	if have > newest {
		return fmt.Errorf("store %s has schema %d, and this program knows only up to %d: run the newer program, or restore the backup made before it", path, have, newest)
	}
	if _, err := m.Up(ctx); err != nil {
		return fmt.Errorf("store %s: migrating its schema from %d to %d: %w", path, have, newest, err)
	}
	return nil
}
