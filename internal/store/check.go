package store

import (
	"context"
	"errors"
)

// Check has SQLite look through the whole file (PRAGMA quick_check) and gives the
// engine's name and version. The error says what is damaged.
func (s *Store) Check(ctx context.Context) (engine string, err error) {
	if s.dialect.many {
		return "PostgreSQL", nil
	}
	var version, found text
	for query, into := range map[string]*text{"SELECT sqlite_version()": &version, "PRAGMA quick_check(1)": &found} {
		rows, err := s.read.query(ctx, query)
		if err != nil {
			return "", err
		}
		if _, err := one(rows, into); err != nil {
			return "", err
		}
	}
	if found != "ok" {
		return "SQLite " + string(version), errors.New("the database is damaged: " + string(found))
	}
	return "SQLite " + string(version), nil
}
