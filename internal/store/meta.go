package store

import (
	"context"
	"strconv"
	"strings"
)

const setMeta = `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

const readMeta = `SELECT value FROM meta WHERE name = $1`

// readOne gives the text that a query finds; empty if it finds no row.
func readOne(ctx context.Context, q querier, query string, args ...any) (string, error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return "", err
	}
	var value text
	_, err = one(rows, &value)
	return string(value), err
}

const readPolicy = `SELECT value FROM meta WHERE name = 'policy'`

func policyThatCounts(ctx context.Context, q querier) (a policyVersion, err error) {
	rows, err := q.query(ctx, readPolicy)
	if err != nil {
		return a, err
	}
	var value text
	if found, err := one(rows, &value); err != nil || !found {
		return a, err
	}
	generation, policy, _ := strings.Cut(string(value), " ")
	a.counts, a.build, _ = strings.Cut(policy, " ")
	a.generation, err = strconv.ParseInt(generation, 10, 64)
	return a, err
}
