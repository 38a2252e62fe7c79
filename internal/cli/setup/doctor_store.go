package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/config"
	"approvalbot/internal/store"
)

// tightSpace is how much room a store should have: the log alone grows for as long
// as it is kept.
const tightSpace = 256 << 20

// storeFindings looks at the store's files from outside, which does not disturb a running
// desk.
func storeFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	if strings.HasPrefix(cfg.Store.URL, "postgres") {
		return postgresFindings(ctx, cfg)
	}
	path := cfg.DatabaseFile()
	if path == "" {
		return []core.Diagnostic{core.Warn("store", "is in memory: every restart forgets all approvals", "set store.url to sqlite:<path>")}
	}
	found := append(fileFindings(path), keyFindings(cfg.Store.KeyFile, exists(path))...)
	if !exists(path) || slices.ContainsFunc(found, func(f core.Diagnostic) bool { return f.Level == core.LevelFail }) {
		return found
	}
	if lost, err := store.Damaged(cfg.Store.URL); err == nil && lost != nil { // once the store is opened, this is gone
		return append(found, core.Fail("store", lost.String(), "start the desk, which goes on with what is left, or restore a backup"))
	}
	return append(found, contentFindings(ctx, cfg)...)
}

// postgresFindings connects as the desk would, and reads whether the key is the one
// that the store was sealed with.
func postgresFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	r, err := store.Reach(ctx, store.Options{URL: cfg.Store.URL, KeyFile: cfg.Store.KeyFile})
	key := keyFindings(cfg.Store.KeyFile, r.Version != "" && !r.New)
	switch {
	case err != nil && r.Version != "" && slices.ContainsFunc(key, func(f core.Diagnostic) bool { return f.Level == core.LevelFail }):
		return append(key, core.OK("store", "PostgreSQL "+r.Version+" answers")) // the key's own finding says the rest
	case err != nil:
		return append(key, core.Fail("store", oneLine(err), "the desk does not start with this"))
	case r.New:
		return append(key, core.Warn("store", "PostgreSQL "+r.Version+" answers, but no store is in its database yet",
			"approvalbot serve makes it"))
	}
	return append(key, core.OK("store", "PostgreSQL "+r.Version+" answers, and the key fits it"), r.Checked.Diagnostic(time.Now()))
}

// contentFindings opens the store to be read, even while a desk has it open, and says whether that works, whether the
// key is the one that it was sealed with, and what the last check of it found.
func contentFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	only := func(d core.Diagnostic) []core.Diagnostic { return []core.Diagnostic{d} }
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s, err := store.OpenToRead(ctx, store.Options{URL: cfg.Store.URL, KeyFile: cfg.Store.KeyFile})
	if err != nil {
		return only(core.Fail("store", oneLine(err), "restore a backup, with its own key file"))
	}
	defer s.Close()
	if _, err := s.List(ctx, core.Filter{Limit: 1}); err != nil {
		return only(core.Fail("store", "its approvals cannot be read: "+oneLine(err),
			"start the desk, which brings an older schema up to date, or restore a backup"))
	}
	engine, whole, err := s.Check(ctx)
	if err != nil {
		return only(core.Fail("store", oneLine(err), "stop the desk and restore a backup"))
	}
	text := "is whole, the key fits it, " + engine
	if !whole {
		text = "can be read, the key fits it, " + engine + "; it is too large to check here; the desk checks it " +
			"weekly, and approvalbot audit verify does too"
	}
	checked, err := s.LastChecked(ctx)
	if err != nil {
		return only(core.Fail("store", oneLine(err), "stop the desk and restore a backup"))
	}
	return []core.Diagnostic{core.OK("store", text), checked.Diagnostic(time.Now())}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fileFindings looks at a database file.
func fileFindings(path string) []core.Diagnostic {
	found := spaceFindings(filepath.Dir(path))
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return append(found, core.Warn("store", path+" is not there yet", "approvalbot serve makes it"))
	case err != nil:
		return append(found, core.Fail("store", oneLine(err), "give the desk's user access to it"))
	}
	defer f.Close()
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil || string(head[:16]) != "SQLite format 3\x00" {
		return append(found, core.Fail("store", path+" is not a SQLite database", "restore a backup, "+
			"or name another file"))
	}
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		found = append(found, core.Warn("store",
			fmt.Sprintf("%s has mode %04o: others can read what agents ask for", path, info.Mode().Perm()), "run: chmod 600 "+path))
	}
	return append(found, core.OK("store", path+" is there"))
}

// spaceFindings says how much room is left on the disk of the store.
func spaceFindings(dir string) []core.Diagnostic {
	free, err := store.FreeBytes(dir)
	if err != nil {
		return []core.Diagnostic{core.Fail("store", "its folder "+dir+" cannot be looked at: "+oneLine(err), "run: mkdir -p "+dir)}
	}
	switch words := fmt.Sprintf("%d MB are free in %s", free>>20, dir); {
	case free < 1<<20:
		return []core.Diagnostic{core.Fail("store", words+": the store has no room for new records", "make room")}
	case free < tightSpace:
		return []core.Diagnostic{core.Warn("store", words, "make room: a full disk stops every approval")}
	default:
		return []core.Diagnostic{core.OK("store", words)}
	}
}

// keyFindings looks at the key that seals calls.
func keyFindings(path string, needed bool) []core.Diagnostic {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !needed:
		return []core.Diagnostic{core.Warn("key file", path+" is not there yet", "approvalbot serve makes it")}
	case errors.Is(err, fs.ErrNotExist):
		return []core.Diagnostic{core.Fail("key file", path+" is missing, and the store was sealed with it",
			"put it back: without it no sealed call can be read")}
	case err != nil:
		return []core.Diagnostic{core.Fail("key file", oneLine(err), "give the desk's user access to it")}
	case info.Mode().Perm()&0o077 != 0:
		return []core.Diagnostic{core.Fail("key file",
			fmt.Sprintf("%s has mode %04o: others can read or change it", path, info.Mode().Perm()), "run: chmod 600 "+path)}
	}
	return []core.Diagnostic{core.OK("key file", path+" is there, and only its owner can read it")}
}
