package signin_test

import (
	"context"
	"encoding/base64"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
)

// A rig is a Door on a real store, for alice and bob, at a desk with pages.
type rig struct {
	*signin.Door
	gate  *core.Gate
	store *store.Store
	rules core.Rules
	keys  map[string]*softkey.Passkey
}

// newRig gives a Door on a store in memory, at which the holders have a passkey each.
func newRig(t *testing.T, holders ...string) *rig {
	t.Helper()
	return rigOn(t, store.Options{URL: "sqlite::memory:"}, holders...)
}

// inFile gives a Door whose store is a file, and the file.
func inFile(t *testing.T) (d *rig, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "desk.db")
	return rigOn(t, store.Options{URL: "sqlite:" + file, KeyFile: filepath.Join(dir, "desk.key")}), file
}

func rigOn(t *testing.T, o store.Options, holders ...string) *rig {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-done)
	})
	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "2"}}},
		AllowedUsers: map[string][]string{"telegram": {"1", "2"}},
	})
	require.NoError(t, err)
	site, err := assertion.SiteOf("https://desk.example.org")
	require.NoError(t, err)
	d := &rig{store: s, rules: core.Rules{Enabled: true, People: people, Site: site}, keys: map[string]*softkey.Passkey{}}
	d.gate = core.NewGate(s.CoreStores(), d.rules, slog.New(slog.DiscardHandler))
	d.Door = signin.New(s.SignInStores(), d.gate)
	for _, who := range holders {
		d.keys[who] = softkey.New(t, assertion.ES256)
		_, err := d.Enrol(t.Context(), begun(signin.Session{ID: "enrols-" + who, Person: who, How: "link", Enrols: true}),
			passkeyOf(t, d.keys[who], "phone"))
		require.NoError(t, err)
	}
	return d
}

// use puts other rules in force.
func (d *rig) use(change func(*core.Rules)) {
	change(&d.rules)
	d.gate.Use(d.rules)
	d.RulesChanged()
}

// events gives the log's entries of a type.
func (d *rig) events(t *testing.T, of approval.EventType) (out []approval.Entry) {
	t.Helper()
	log, err := d.store.Log(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range log {
		if e.Type == of {
			out = append(out, e)
		}
	}
	return out
}

func passkeyOf(t *testing.T, key *softkey.Passkey, name string) signin.Passkey {
	t.Helper()
	k := key.Key(t)
	return signin.Passkey{ID: key.ID, Name: name, PublicKey: k.PublicKey, Algorithm: k.Algorithm, SignCount: k.SignCount}
}

// begun is a session that has begun just now.
func begun(s signin.Session) signin.Session {
	s.CreatedMs = time.Now().UnixMilli()
	return s
}

func decode64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	require.NoError(t, err)
	return b
}
