package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"approvalbot/internal/fault"
)

const (
	// storeIDName, in meta, is the store's own id, sealed: a store that has it has given all
	// its rows their MACs.
	storeIDName = "store-id"
	// macSchema is the first schema in which all rows of [marked] have MACs. Some tables had them from
	// schema 10 on.
	macSchema = 13
	// dueName, in meta, sealed, says that the store has an older schema and its rows are to get MACs. It is there
	// from before the migration until they have them: no other step gives rows their first ones.
	dueName = "macs-due"
	// copyName, in meta, marks a copy: "backup" from the moment it is made until it is opened,
	// then "restored" until [Store.Settled].
	copyName   = "copy"
	isBackup   = "backup"
	isRestored = "restored"
	makingMACs = "giving the store's rows their MACs" // as it is said to people
	dropMeta   = `DELETE FROM meta WHERE name = $1`
	// markedSuffix: the file of that name beside the key file says that the key has made MACs.
	// It is not in the database, so an attacker who can write only there cannot remove it.
	markedSuffix = ".marked"
)

// prepare brings the schema up to date, loads the key and reads the store's id.
func (s *Store) prepare(ctx context.Context, p *pool, path, keyFile string) (err error) {
	s.schema, err = migrate(ctx, p.db, s.dialect, path, migrations(), func(have int64) error {
		s.saying.say(fmt.Sprintf("bringing the store up from schema %d", have), 0, 0)
		if have >= macSchema {
			return nil
		}
		keys, err := loadKey(ctx, p, keyFile, false)
		if err == nil {
			_, err = p.db.ExecContext(ctx, setMeta, dueName, keys.seal(dueName, []byte(dueName)))
		}
		return err
	})
	if err != nil {
		return err
	}
	fault.Point("before-store-identified")
	if s.keys, err = loadKey(ctx, p, keyFile, path == memory); err != nil {
		return err
	}
	return s.identify(ctx, p, keyFile)
}

// identify reads the store's id, or gives it one. Rows get their first MACs here, in one
// transaction, if this program or one that was killed before has brought the store up from a
// schema without; if the key file's host knows that the key has made any before, or a row has one,
// the store is refused. A store that is not of an older schema and has rows, but no id, is refused
// on every host. A store that is a backup gets another id, so that no row of the original fits it.
func (s *Store) identify(ctx context.Context, p *pool, keyFile string) error {
	mark := ""
	if keyFile != "" {
		mark = realKey(keyFile) + markedSuffix
	}
	w, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer w.Rollback()
	q := plainTx{w}
	if s.dialect.many { // of several that start at once one does it
		if _, err := q.exec(`SELECT pg_advisory_xact_lock($1)`, hash(storeIDName)); err != nil {
			return err
		}
	}
	value, err := readOne(ctx, q, readMeta, storeIDName)
	if err != nil {
		return err
	}
	state, err := readOne(ctx, q, readMeta, copyName)
	if err != nil {
		return err
	}
	sealed, err := readOne(ctx, q, readMeta, dueName)
	if err != nil {
		return err
	}
	due := false
	if sealed != "" {
		_, foreign := s.keys.open(dueName, sealed)
		due = foreign == nil
	}
	if value == "" {
		err = s.firstID(ctx, q, mark, due)
	} else {
		err = s.knownID(ctx, q, value, state, due)
	}
	if err == nil && sealed != "" {
		_, err = q.exec(dropMeta, dueName)
	}
	if err != nil {
		return err
	}
	fault.Point("before-store-marked")
	if err := w.Commit(); err != nil {
		return err
	}
	fault.Point("after-store-marked")
	s.put = state != ""
	if mark != "" {
		s.noteMarked(mark)
	}
	return nil
}

// firstID gives the store an id, and the rows of an older release their MACs if these are due.
func (s *Store) firstID(ctx context.Context, q plainTx, mark string, due bool) error {
	had := false
	for _, table := range marked {
		n, err := readOne(ctx, q, "SELECT CASE WHEN MAX(mac) <> '' THEN 'marked' ELSE 'some' END FROM "+table.name+
			table.where("")+" HAVING COUNT(*) > 0")
		if err != nil {
			return err
		}
		if n == "marked" {
			return fmt.Errorf("the store's row %s in table meta is missing, although table %s has rows with MACs, so "+
				"somebody removed the row: restore a backup", storeIDName, table.name)
		}
		had = had || n != ""
	}
	if had && !due {
		return fmt.Errorf("the store's row %s in table meta and the MACs of all rows are missing, so somebody "+
			"removed them: restore a backup", storeIDName)
	}
	if _, err := os.Stat(mark); had && err == nil {
		return fmt.Errorf("no row of the store has a MAC, but the file %s says that rows had MACs under this key: "+
			"restore a backup. Only if you put back the store of an older release yourself, remove %[1]s and "+
			"start again", mark)
	} else if had && mark != "" && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.keys = s.keys.of(uuid.NewString(), s.log)
	if had {
		s.saying.say(makingMACs, 0, 0)
		if err := remark(ctx, q, keyring{}, s.keys, marked); err != nil {
			return err
		}
		s.log.Info("the store's rows now have MACs; rows without a MAC no longer count")
	}
	return s.keys.writeID(q)
}

// knownID reads the id, and if they are due, gives MACs to the rows that were written before [macSchema]. A backup
// that is opened for the first time gets another id.
func (s *Store) knownID(ctx context.Context, q plainTx, value, state string, due bool) error {
	keys, err := s.keys.withID(value, s.log)
	if err != nil {
		return err
	}
	if due {
		later := slices.DeleteFunc(slices.Clone(marked), func(m markedTable) bool { return !m.later })
		s.saying.say(makingMACs, 0, 0)
		if err := remark(ctx, q, keyring{}, keys, later); err != nil {
			return err
		}
	}
	if s.keys = keys; state != isBackup {
		return nil
	}
	next := s.keys.of(uuid.NewString(), s.log)
	s.saying.say(makingMACs, 0, 0)
	if err := remark(ctx, q, s.keys, next, marked); err != nil {
		return fmt.Errorf("the backup cannot be used: %w", err)
	}
	s.keys = next
	if _, err := q.exec(setMeta, copyName, isRestored); err != nil {
		return err
	}
	return s.keys.writeID(q)
}

// withID is the keyring of the store whose id was sealed so.
func (k keyring) withID(value string, log *slog.Logger) (keyring, error) {
	id, err := k.open(storeIDName, value)
	if err != nil {
		return k, fmt.Errorf("the store's row %s in table meta was changed, so no row's MAC can be checked: restore a backup",
			storeIDName)
	}
	return k.of(string(id), log), nil
}

func (k keyring) writeID(q marker) error {
	_, err := q.exec(setMeta, storeIDName, k.seal(storeIDName, []byte(k.store)))
	return err
}

// noteMarked writes down beside the key that it has made MACs, as far as that folder can be
// written to.
func (s *Store) noteMarked(mark string) {
	f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return
	}
	if err == nil {
		_, err = fmt.Fprintln(f, "This key has made MACs for the rows of a store: docs/operations.md, \"The key\".")
		err = errors.Join(err, f.Sync(), f.Close(), syncDir(filepath.Dir(mark)))
	}
	if err != nil {
		s.log.Warn("could not write the file KEYFILE.marked; create it yourself (it may be empty). Without it, the "+
			"desk would trust a database that was put back to an older release's state", "path", mark, "reason", err)
	}
}

// PutBack reports whether the store is a backup that was put back, and [Store.Settled] was not
// called since, in any instance.
func (s *Store) PutBack(ctx context.Context) (bool, error) {
	if !s.put {
		return false, nil
	}
	state, err := readOne(ctx, s.read, readMeta, copyName)
	return state != "", err
}

// Settled says that all is done that a store that was put back needs.
func (s *Store) Settled(ctx context.Context) error {
	return s.do(ctx, func(t *tx) error { return t.put(dropMeta, copyName) })
}

// marker is a transaction in which MACs are made anew.
type marker interface {
	querier
	exec(text string, args ...any) (int64, error)
}

// remark gives every row of the tables another MAC. from checks the MAC that a row has, if from knows the store:
// remark fails at the first row whose MAC does not fit.
func remark(ctx context.Context, q marker, from, to keyring, tables []markedTable) error {
	for _, table := range tables {
		write := "UPDATE " + table.name + " SET mac = $1 WHERE " + table.isRow(1)
		err := table.walk(ctx, q, func(row []any, mac string, key []any) error {
			if from.rows != nil && from.rows.mac(table.name, row) != mac {
				return fmt.Errorf("%w; remove that row, or restore a backup in which the row was not changed yet",
					from.rows.doubt(table.name, words(key)))
			}
			_, err := q.exec(write, append([]any{to.rows.mac(table.name, row)}, key...)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// walk calls fn with every row of the table, as it was when its page was read, and with its key.
func (m markedTable) walk(ctx context.Context, q querier, fn func(row []any, mac string, key []any) error) error {
	n := len(m.columns)
	return m.pages(ctx, q, m.keys(), func(page [][]any) error {
		for _, row := range page {
			mac, _ := row[n].(string)
			if err := fn(row[:n], mac, row[n+1:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// pages calls fn with the rows of the table, page by page in the order of the columns by, in which no two rows are
// alike. Each row is the table's columns, its MAC, and the columns by.
func (m markedTable) pages(ctx context.Context, q querier, by []string, fn func(page [][]any) error) error {
	order := strings.Join(by, ", ")
	first := "SELECT " + strings.Join(m.columns, ", ") + ", mac, " + order + " FROM " + m.name
	last := " ORDER BY " + order + " LIMIT " + strconv.Itoa(copyPage)
	query, args := first+m.where("")+last, []any(nil)
	n := len(m.columns) + 1
	for {
		rows, err := q.query(ctx, query, args...)
		if err != nil {
			return err
		}
		page, err := wholeRows(rows, n+len(by))
		if err != nil || len(page) == 0 {
			return err
		}
		if err := fn(page); err != nil || len(page) < copyPage {
			return err
		}
		args = page[len(page)-1][n:]
		query = first + m.where("("+order+") > ("+placeholders(len(by))+")") + last
	}
}

// plainTx is a transaction while the store is being opened.
type plainTx struct{ *sql.Tx }

func (p plainTx) query(ctx context.Context, text string, args ...any) (result, error) {
	return p.QueryContext(ctx, text, args...)
}

func (p plainTx) exec(text string, args ...any) (int64, error) {
	done, err := p.Exec(text, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

const copyPage = 500

func placeholders(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(words, ", ")
}

// wholeRows reads rows of so many columns; text is a string.
func wholeRows(rows result, columns int) (all [][]any, err error) {
	dest := make([]any, columns)
	err = each(rows, func() error {
		row := make([]any, columns)
		for i := range row {
			dest[i] = &row[i]
		}
		err := rows.Scan(dest...)
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = string(b)
			}
		}
		all = append(all, row)
		return err
	})
	return all, err
}
