package store

import "github.com/pressly/goose/v3"

// dialect is what SQLite and PostgreSQL do not share.
type dialect struct {
	goose goose.Dialect
	// begin starts a transaction that may write. SQLite takes its write lock at
	// once, instead of failing half-way.
	begin string
	// many says that other instances write to the same database at the same time,
	// so that what a change counts on must be locked.
	many bool
	// locking is what a statement has at its end inside a writing transaction.
	locking map[string]string
	// ddl rewrites the migrations' shared text.
	ddl func(string) string
}

var sqlite = dialect{
	goose: goose.DialectSQLite3,
	begin: "BEGIN IMMEDIATE",
}
