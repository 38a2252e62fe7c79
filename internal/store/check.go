package store

import (
	"context"
	"errors"
)

// lookedThrough is up to which size of its file Check looks through a SQLite database, in bytes: that takes less than a
// second.
const lookedThrough = 256 << 20

// Check gives the engine's name and version, and has SQLite look through its file (PRAGMA quick_check) if that is
// small; whole reports whether SQLite looked through it. The error says what is damaged. [Store.CheckRows] looks
// through a file of any size.
func (s *Store) Check(ctx context.Context) (engine string, whole bool, err error) {
	if s.dialect.many {
		return "PostgreSQL", false, nil
	}
	version, err := readOne(ctx, s.read, "SELECT sqlite_version()")
	if err != nil {
		return "", false, err
	}
	rows, err := s.read.query(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
	if err != nil {
		return "", false, err
	}
	var size number
	if _, err := one(rows, &size); err != nil || size > lookedThrough {
		return "SQLite " + version, false, err
	}
	problem, err := s.fileDamage(ctx)
	if err == nil && problem != "" {
		err = errors.New(problem)
	}
	return "SQLite " + version, true, err
}

// fileDamage says what SQLite finds wrong in its file; empty if the file is sound.
func (s *Store) fileDamage(ctx context.Context) (problem string, err error) {
	if s.dialect.many {
		return "", nil
	}
	rows, err := s.read.queryLong(ctx, "PRAGMA quick_check(1)")
	if err != nil {
		return "", err
	}
	var found text
	if _, err := one(rows, &found); err != nil || found == "ok" {
		return "", err
	}
	return "the database is damaged: " + string(found), nil
}
