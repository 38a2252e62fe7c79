//go:build !unix

package store

import (
	"errors"
	"os"
)

// exclusively refuses: without a lock that ends with its process, two desks could write
// one store.
func exclusively(*os.File) error {
	return errors.New("a desk on SQLite needs Linux or macOS; here use PostgreSQL (store.url: postgres://…), " +
		"or ask a desk on another machine (--server)")
}

func unlock(*os.File) error { return nil }
