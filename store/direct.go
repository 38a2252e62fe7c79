package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"regexp"
	"strconv"
)

// execHere is exec on SQLite, past database/sql: half of a short statement's time is
// what that does for connections that others share, and this one is the writer's.
func (w *writer) execHere(text string, args []any) (n int64, err error) {
	if lost := w.conn.Raw(func(c any) error {
		n, err = w.execOn(c.(driver.ConnPrepareContext), text, args)
		return nil // its error is not for database/sql to judge
	}); lost != nil {
		return 0, lost
	}
	if err != nil {
		return 0, fmt.Errorf("%.40q: %w", text, err)
	}
	return n, nil
}

func (w *writer) execOn(c driver.ConnPrepareContext, text string, args []any) (int64, error) {
	st := w.direct[text]
	if st == nil {
		var err error
		if st, err = c.PrepareContext(context.Background(), nameless(text)); err != nil {
			return 0, err
		}
		w.direct[text] = st
	}
	w.args = w.args[:0]
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return 0, fmt.Errorf("argument %d: %w", i+1, err)
		}
		w.args = append(w.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	defer clear(w.args)
	res, err := st.(driver.StmtExecContext).ExecContext(context.Background(), w.args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

var parameter = regexp.MustCompile(`\$[0-9]+`)

// nameless writes parameters as ? where each comes once and in order. $1 is a name
// to SQLite, which is looked up for every value.
func nameless(text string) string {
	for i, p := range parameter.FindAllString(text, -1) {
		if p != "$"+strconv.Itoa(i+1) {
			return text
		}
	}
	return parameter.ReplaceAllString(text, "?")
}
