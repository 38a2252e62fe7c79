package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// plain is the same round trip written by hand, without policy, redaction,
// sealing, audit or cards: net/http, encoding/json and two durable steps. Its
// paths are the desk's.
//
// On SQLite one writer drains up to 256 jobs into one transaction, a savepoint
// each, and answers after COMMIT. On PostgreSQL every step is a transaction of
// its own on one of sixteen connections, and NOTIFY wakes the asker.
type plain struct {
	*http.ServeMux
	db   *sql.DB
	jobs chan job // nil: a transaction for each
	chat chat     // empty: it posts no messages

	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// statement is a text with its arguments.
type statement struct {
	text string
	args []any
}

type job struct {
	work []statement
	done chan error
}

const plainTables = `CREATE TABLE a (id TEXT PRIMARY KEY, status TEXT, body TEXT);
CREATE TABLE d (id TEXT PRIMARY KEY, due BIGINT);
CREATE TABLE e (seq TEXT PRIMARY KEY, data TEXT)`

func openPlain(url string) (*plain, error) {
	p := &plain{ServeMux: http.NewServeMux(), waiting: map[string]chan struct{}{}}
	p.HandleFunc("POST /v1/approvals", p.ask)
	p.HandleFunc("GET /v1/approvals/{id}", p.wait)
	p.HandleFunc("POST /v1/approvals/{id}/resolve", p.resolve)
	file, lite := strings.CutPrefix(url, "sqlite:")
	var err error
	if lite {
		p.jobs = make(chan job, 256)
		p.db, err = sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate")
	} else {
		p.db, err = sql.Open("pgx", url)
	}
	if err != nil {
		return nil, err
	}
	if _, err := p.db.Exec(plainTables); err != nil {
		return nil, err
	}
	if lite {
		p.db.SetMaxOpenConns(1)
		go p.commitJobs()
		return p, nil
	}
	p.db.SetMaxOpenConns(16)
	p.db.SetMaxIdleConns(16)
	return p, p.listen(url)
}

// listen wakes those whose approval has ended.
func (p *plain) listen(url string) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "LISTEN ended"); err != nil {
		return err
	}
	go func() {
		for {
			n, err := c.WaitForNotification(ctx)
			if err != nil {
				fmt.Fprintln(os.Stderr, "bench: the reference no longer hears PostgreSQL:", err)
				return
			}
			p.wake(n.Payload)
		}
	}()
	return nil
}

// padding makes rows about as large as the desk's.
var padding = strings.Repeat("x", 600)

func asks(id, body string) []statement {
	return []statement{{"INSERT INTO a VALUES ($1, 'pending', $2)", []any{id, body}},
		{"INSERT INTO d VALUES ($1, $2)", []any{id, 0}},
		{"INSERT INTO e VALUES ($1, $2)", []any{uuid.NewString(), body}}}
}

func resolves(id string) []statement {
	return []statement{{"UPDATE a SET status = 'approved' WHERE id = $1 AND status = 'pending'", []any{id}},
		{"UPDATE d SET due = $2 WHERE id = $1", []any{id, 1}},
		{"INSERT INTO e VALUES ($1, $2)", []any{uuid.NewString(), padding}}}
}

func (p *plain) ask(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := uuid.NewString()
	body, _ := json.Marshal(map[string]any{"id": id, "call": in, "padding": padding})
	ended := make(chan struct{})
	p.mu.Lock()
	p.waiting[id] = ended
	p.mu.Unlock()
	err := p.commit(asks(id, string(body))...)
	if err == nil && p.chat.url != "" {
		err = p.post(id, ended)
	}
	p.answer(w, id, "pending", err)
}

func (p *plain) wait(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	p.mu.Lock()
	ended := p.waiting[id]
	p.mu.Unlock()
	if ended != nil {
		select {
		case <-ended:
		case <-r.Context().Done():
			return
		}
	}
	p.answer(w, id, "approved", nil)
}

func (p *plain) resolve(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := r.PathValue("id")
	work := resolves(id)
	if p.jobs == nil {
		work = append(work, statement{"SELECT pg_notify('ended', $1)", []any{id}})
	}
	err := p.commit(work...)
	if err == nil && p.jobs != nil {
		p.wake(id)
	}
	p.answer(w, id, "approved", err)
}

func (p *plain) wake(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended := p.waiting[id]; ended != nil {
		close(ended)
		delete(p.waiting, id)
	}
}

func (p *plain) answer(w http.ResponseWriter, id, status string, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"id": id, "status": status})
}

// commit gives nil once the statements are on disk.
func (p *plain) commit(work ...statement) error {
	if p.jobs != nil {
		j := job{work, make(chan error, 1)}
		p.jobs <- j
		return <-j.done
	}
	tx, err := p.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, s := range work {
		if _, err := tx.Exec(s.text, s.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (p *plain) commitJobs() {
	prepared := map[string]*sql.Stmt{}
	for first := range p.jobs {
		batch := []job{first}
		for len(batch) < 256 && len(p.jobs) > 0 {
			batch = append(batch, <-p.jobs)
		}
		err := p.commitBatch(prepared, batch)
		for _, j := range batch {
			j.done <- err
		}
	}
}

func (p *plain) commitBatch(prepared map[string]*sql.Stmt, batch []job) error {
	var all []statement
	for _, j := range batch {
		all = append(append(append(all, statement{text: "SAVEPOINT j"}), j.work...), statement{text: "RELEASE j"})
	}
	for _, s := range all {
		if prepared[s.text] == nil {
			st, err := p.db.Prepare(s.text)
			if err != nil {
				return err
			}
			prepared[s.text] = st
		}
	}
	tx, err := p.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, s := range all {
		if _, err := tx.Stmt(prepared[s.text]).Exec(s.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
