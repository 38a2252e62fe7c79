package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNameless(t *testing.T) {
	for text, want := range map[string]string{
		`INSERT INTO t VALUES ($1, $2,$3)`:     `INSERT INTO t VALUES (?, ?,?)`,
		`UPDATE t SET a = $2 WHERE key = $1`:   `UPDATE t SET a = $2 WHERE key = $1`,
		`DELETE FROM t WHERE a = $1 OR b = $1`: `DELETE FROM t WHERE a = $1 OR b = $1`,
		`COMMIT`:                               `COMMIT`,
	} {
		require.Equal(t, want, nameless(text))
	}
}
