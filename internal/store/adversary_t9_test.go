package store

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
	"approvalbot/internal/store/pgtest"
)

// intruder writes to a store's database beside the desk, and has not its key.
type intruder struct {
	t  *testing.T
	db *sql.DB
}

func (i intruder) exec(statement string, args ...any) {
	i.t.Helper()
	_, err := i.db.Exec(statement, args...)
	require.NoError(i.t, err)
}

// words is a row's key in one text, as SQL.
func (m markedTable) words() string {
	if m.columns[0] == inboundKey {
		return inboundKey
	}
	return strings.Join(m.keys(), " || ' ' || ")
}

// row is a whole row of a table of MACs, its MAC last.
func (i intruder) row(m markedTable, key string) []any {
	i.t.Helper()
	rows, err := i.db.Query("SELECT * FROM "+m.name+" WHERE "+m.words()+" = $1", key)
	require.NoError(i.t, err)
	names, err := rows.Columns()
	require.NoError(i.t, err)
	all, err := wholeRows(rows, len(names))
	require.NoError(i.t, err)
	require.Len(i.t, all, 1)
	return all[0]
}

// put puts a row as it was in the place of the one with its key.
func (i intruder) put(m markedTable, key string, row []any) {
	i.t.Helper()
	i.exec("DELETE FROM "+m.name+" WHERE "+m.words()+" = $1", key)
	i.exec("INSERT INTO "+m.name+" VALUES ("+placeholders(len(row))+")", row...)
}

// chain writes the whole log anew, so that its chain fits, as anybody can who knows how it is made.
func (i intruder) chain(s *Store) {
	i.t.Helper()
	all, err := s.Log(ctx, 0, 10_000)
	require.NoError(i.t, err)
	prev := ""
	var n int64
	i.exec("DELETE FROM events")
	for _, e := range all {
		n++
		e.Seq = n
		prev = approval.ChainHash(prev, e.Event)
		i.exec(insertEvent, e.Seq, e.AtMs, string(e.Type), e.Key, e.Owner, string(e.Data), prev)
	}
	i.exec(copyHead, n, prev)
}

// onEachEngine runs a test with a store of each engine, an intruder in its database, and
// the options that open it.
func onEachEngine(t *testing.T, test func(t *testing.T, s *Store, i intruder, o Options)) {
	t.Run("SQLite", func(t *testing.T) {
		o := fileOptions(t.TempDir())
		s, err := Open(ctx, o)
		require.NoError(t, err)
		p, err := openPool(strings.TrimPrefix(o.URL, "sqlite:"), 1, []string{"busy_timeout(5000)"})
		require.NoError(t, err)
		t.Cleanup(func() { p.db.Close() })
		test(t, start(t, s), intruder{t, p.db}, o)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		o := pgOptions(t, pgtest.New(t))
		s, err := Open(ctx, o)
		require.NoError(t, err)
		db := openPostgres(s.listen, pgConnector{}, nil).db
		t.Cleanup(func() { db.Close() })
		test(t, start(t, s), intruder{t, db}, o)
	})
}

// kept is one row of each table of MACs, by table: its key.
func kept(t *testing.T, s *Store, n int) map[string]string {
	t.Helper()
	name := fmt.Sprintf("p%d", n)
	a := create(t, s, pendingApproval("bot"), core.Change{})
	x := create(t, s, pendingApproval("bot"), core.Change{Aliases: []string{"a" + name}, // not the one that is put back
		Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	g := approval.Grant{ID: uuid.NewString(), Kind: approval.AlwaysGrant, Owner: "bot", AgentID: "main", Fingerprint: "f" + name,
		By: []string{"person:alice"}}
	require.NoError(t, s.AddGrant(ctx, g, approval.Event{Type: approval.EventGranted}))
	require.NoError(t, s.Agree(ctx, "policy", false))
	require.NoError(t, s.ChangePasskeys(ctx, "gone"+name, adding(signin.Passkey{ID: "s" + name, Person: "gone" + name})))
	_, err := s.EndGone(ctx, []string{"p1", "p2"}, "policy", goneEvents)
	require.NoError(t, err)
	require.NoError(t, s.ChangePasskeys(ctx, name, adding(signin.Passkey{ID: "k" + name, Person: name, SignCount: 3})))
	_, err = s.Absent(ctx, nil, leaving(people.Absence{Person: name, To: "bob", SinceMs: 1, UntilMs: 9}))
	require.NoError(t, err)
	require.NoError(t, s.AddLink(ctx, signin.LoginLink{Hash: "l" + name, Person: name, EndsMs: nowMs() + day},
		approval.Event{Type: approval.EventLoginLink}, nil))
	require.NoError(t, s.SignIn(ctx, signedIn(name, name+"-s")))
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{{InboundRef: approval.InboundRef{Source: "telegram", ID: int64(n)},
		Body: []byte("tap"), ReceivedMs: 1}}))
	require.NoError(t, s.do(ctx, func(t *tx) error {
		return t.move(approval.Target{Channel: "telegram", To: "old" + name}, approval.Target{Channel: "telegram", To: "new" + name})
	}))
	require.NoError(t, s.KeepChallenge(ctx, signin.Challenge{ID: "c" + name, Kind: signin.YesChallenge, ExpiresMs: nowMs() + day}))
	require.NoError(t, s.TouchSession(ctx, name+"-s", nowMs()+1000))
	return map[string]string{"ceremonies": "c" + name, "moves": "telegram old" + name, "sessions": name + "-s", "login_links": "l" + name, "inbound": fmt.Sprint("telegram ", n),
		"approvals": a.Key, "grants": g.ID, "passkeys": "k" + name, "suspended_passkeys": "s" + name,
		"absences": name, "approval_ids": "a" + name + " bot",
		"deliveries": x.Key + " " + x.Deliveries[0].ID}
}

// believed reports whether the store gives what kept has made, by table, and whether it says
// of one read by its key that it is not believed.
func believed(t *testing.T, s *Store, of map[string]string, table string) bool {
	t.Helper()
	name := strings.TrimPrefix(of["passkeys"], "k")
	switch table {
	case "approvals":
		_, err := s.Get(ctx, of[table])
		_, bare := s.Bare(ctx, of[table])
		_, update := s.Update(ctx, of[table], func(a approval.Approval) (core.Change, error) {
			return core.Change{Approval: a, Unchanged: true}, nil
		})
		page, listed := s.List(ctx, core.Filter{})
		require.NoError(t, listed)
		there := false
		for _, a := range page.Items {
			there = there || a.Key == of[table]
		}
		for _, e := range []error{err, bare, update} {
			require.Equal(t, there, e == nil, "%v", e)
			require.Equal(t, !there, e != nil && approval.CodeOf(e) == approval.CodeNotFound)
		}
		return there
	case "grants":
		look := core.Lookup{Owner: "bot", AgentID: "main", Fingerprint: "f" + name, Grants: true}
		found, err := s.Covering(ctx, look)
		require.NoError(t, err)
		all, err := s.Grants(ctx, core.GrantFilter{ID: of[table]})
		require.NoError(t, err)
		require.Equal(t, len(found), len(all))
		return len(found) > 0
	case "passkeys":
		all, err := s.Passkeys(ctx, name)
		require.NoError(t, err)
		_, one := s.Passkey(ctx, of[table])
		require.Equal(t, len(all) > 0, one == nil)
		return one == nil
	case "suspended_passkeys":
		all, err := s.SuspendedPasskeys(ctx, "gone"+name)
		require.NoError(t, err)
		return len(all) > 0
	case "sessions":
		_, err := s.Session(ctx, "cookie of "+of[table])
		all, listed := s.Sessions(ctx, name)
		require.NoError(t, listed)
		require.Equal(t, len(all) > 0, err == nil)
		return err == nil
	case "login_links":
		_, err := s.Link(ctx, of[table])
		return err == nil
	case "ceremonies":
		_, err := s.Challenge(ctx, of[table])
		return err == nil
	case "moves":
		all, err := s.Moves(ctx)
		require.NoError(t, err)
		return all[approval.Target{Channel: "telegram", To: "old" + name}].To != ""
	case "deliveries":
		key, _, _ := strings.Cut(of[table], " ")
		a, err := s.Get(ctx, key)
		require.NoError(t, err)
		return len(a.Deliveries) > 0
	case "approval_ids":
		id := "a" + name
		mine, err := s.Keys(ctx, core.NameQuery{ID: id, Owner: "bot"})
		require.NoError(t, err)
		anybodys, err := s.Keys(ctx, core.NameQuery{ID: id})
		require.NoError(t, err)
		require.Equal(t, len(mine), len(anybodys))
		require.Equal(t, len(mine) > 0, found(t, s, core.Lookup{Owner: "bot", ID: id}).ByID != nil)
		return len(mine) > 0
	case "inbound":
		all, err := s.Inbound(ctx, "telegram", 10)
		require.NoError(t, err)
		for _, i := range all {
			if inboundID(i.Source, i.ID) == of[table] {
				return true
			}
		}
		return false
	}
	all, err := s.Absences(ctx)
	require.NoError(t, err)
	return len(all.All) > 0
}

// named reports what CheckRows says.
func named(t *testing.T, s *Store) string {
	t.Helper()
	var all []string
	_, err := s.CheckRows(ctx, 0, nil, func(problem string) { all = append(all, problem) })
	require.NoError(t, err)
	return strings.Join(all, "\n")
}

// A row in which anything is changed counts for nothing, and CheckRows names it; put back as it
// was it counts again.
func TestAdversary_T9_RowsOfAnotherHand(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, o Options) {
		mine, others := kept(t, s, 1), kept(t, s, 2)
		other := o
		if strings.HasPrefix(o.URL, "postgres") {
			other.URL = pgtest.New(t)
		} else {
			other.URL = "sqlite:" + filepath.Join(t.TempDir(), "other.db")
		}
		foreign, err := Open(ctx, other)
		require.NoError(t, err)
		require.Equal(t, s.keys.id, foreign.keys.id, "of the same key")
		require.Empty(t, named(t, s))
		for _, m := range marked {
			key := mine[m.name]
			where := " WHERE " + m.words() + " = '" + key + "'"
			was := i.row(m, key)
			columns := make([]any, len(m.columns))
			require.NoError(t, m.walk(ctx, s.read, func(row []any, mac string, k []any) error {
				if words(k) == key {
					copy(columns, row)
				}
				return nil
			}))
			deeds := map[string]func(){
				"the MAC emptied": func() { i.exec("UPDATE " + m.name + " SET mac = ''" + where) },
				"the MAC of another row": func() {
					i.exec("UPDATE "+m.name+" SET mac = (SELECT mac FROM "+m.name+" WHERE "+m.words()+" = $1)"+where,
						others[m.name])
				},
				"a row of another store": func() {
					i.exec("UPDATE "+m.name+" SET mac = $1"+where, foreign.keys.rows.mac(m.name, columns))
				},
				"a row of another table": func() {
					i.exec("UPDATE "+m.name+" SET mac = $1"+where, s.keys.rows.mac("other", columns))
				},
			}
			for _, c := range m.columns[1:] {
				if c == absenceChanges || slices.Contains(m.key, c) {
					continue
				}
				if number := strings.HasSuffix(c, "_ms") || c == "version" || c == "sign_count"; number && !s.dialect.many {
					deeds["no number in "+c] = func() { i.exec("UPDATE " + m.name + " SET " + c + " = 'x'" + where) }
				}
				deeds["changed "+c] = func() {
					other := c + " || ' '"
					switch {
					case strings.HasSuffix(c, "_ms"), c == "version", c == "sign_count":
						other = c + " + 1"
					case c == "backed_up", c == "enrols", c == "waited", c == "shown", c == "deny_only":
						other = "1 - " + c
					case m.name == "approval_ids":
						other = "(SELECT MIN(key) FROM approvals WHERE key <> approval_ids.key)"
					}
					i.exec("UPDATE " + m.name + " SET " + c + " = " + other + where)
				}
			}
			for deed, do := range deeds {
				require.True(t, believed(t, s, mine, m.name), "%s, before %s", m.name, deed)
				do()
				require.False(t, believed(t, s, mine, m.name), "%s, %s", m.name, deed)
				require.Contains(t, named(t, s), key, "%s, %s", m.name, deed)
				i.put(m, key, was)
			}
			require.True(t, believed(t, s, mine, m.name))
		}
		require.NoError(t, foreign.Close())
		require.NotZero(t, s.Disbelieved())
	})
}

// allowed is an approval that people allowed, as the Gate leaves it.
func allowed(t *testing.T, s *Store) approval.Approval {
	t.Helper()
	a := create(t, s, pendingApproval("bot"), core.Change{Seal: []byte("call")})
	return change(t, s, a.Key, func(a approval.Approval) core.Change {
		a.Status, a.ResolvedAtMs, a.ClaimUntilMs = approval.Approved, nowMs(), nowMs()+day
		return core.Change{Approval: a, Events: []approval.Event{said(a, approval.EventResolved)}}
	})
}

func said(a approval.Approval, kind approval.EventType) approval.Event {
	data := []byte(`{"status":"` + string(a.Status) + `"}`)
	return approval.Event{AtMs: nowMs(), Type: kind, Key: a.Key, Owner: a.Owner, Data: data}
}

func handOut(s *Store, key string) error {
	_, err := s.Update(ctx, key, func(a approval.Approval) (core.Change, error) {
		if a.ClaimedAtMs != 0 {
			return core.Change{Approval: a, Unchanged: true, HandsOut: true}, nil
		}
		a.ClaimedAtMs = nowMs()
		return core.Change{Approval: a, HandsOut: true, Events: []approval.Event{said(a, approval.EventClaimed)}}, nil
	})
	return err
}

// A row that fits and is older than the log is not handed out, and named.
func TestAdversary_T9_PutBack(t *testing.T) {
	t.Parallel()
	approvals := marked[0]
	for name, c := range map[string]struct {
		deed  func(t *testing.T, s *Store, i intruder, key string)
		fails bool
	}{
		"nothing is changed":     {func(*testing.T, *Store, intruder, string) {}, false},
		"claimed, claimed again": {func(t *testing.T, s *Store, _ intruder, key string) { require.NoError(t, handOut(s, key)) }, false},
		"claimed, put back": {func(t *testing.T, s *Store, i intruder, key string) {
			was := i.row(approvals, key)
			require.NoError(t, handOut(s, key))
			i.put(approvals, key, was)
		}, true},
		"claimed, put back, resolved again at the log's end": {func(t *testing.T, s *Store, i intruder, key string) {
			was := i.row(approvals, key)
			a, err := s.Get(ctx, key)
			require.NoError(t, err)
			require.NoError(t, handOut(s, key))
			i.put(approvals, key, was)
			e := said(a, approval.EventResolved)
			n, head, err := s.Head(ctx)
			require.NoError(t, err)
			e.Seq = n + 1
			hash := approval.ChainHash(head, e)
			i.exec(insertEvent, e.Seq, e.AtMs, string(e.Type), e.Key, e.Owner, string(e.Data), hash)
			i.exec(copyHead, e.Seq, hash)
		}, true},
		"revoked, put back": {func(t *testing.T, s *Store, i intruder, key string) {
			was := i.row(approvals, key)
			change(t, s, key, func(a approval.Approval) core.Change {
				a.RevokedAtMs = nowMs()
				return core.Change{Approval: a, Events: []approval.Event{said(a, approval.EventRevoked)}}
			})
			i.put(approvals, key, was)
		}, true},
		"resolved deleted from the log": {func(t *testing.T, s *Store, i intruder, key string) {
			i.exec("DELETE FROM events WHERE type = $1 AND key = $2", string(approval.EventResolved), key)
			i.chain(s)
		}, true},
		"claimed deleted from the log": {func(t *testing.T, s *Store, i intruder, key string) {
			require.NoError(t, handOut(s, key))
			i.exec("DELETE FROM events WHERE type = $1 AND key = $2", string(approval.EventClaimed), key)
			i.chain(s)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
				a := allowed(t, s)
				c.deed(t, s, i, a.Key)
				if !c.fails {
					require.NoError(t, handOut(s, a.Key))
					require.Empty(t, named(t, s))
					return
				}
				require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(handOut(s, a.Key)))
				require.Contains(t, named(t, s), "approval "+a.Key)
			})
		})
	}
}

// An older row counts for no yes. What retention has forgotten, and what an older release wrote
// without numbers, does not make a row older.
func TestAdversary_T9_AnOlderRowOnEachEngine(t *testing.T) {
	t.Parallel()
	voted := func(t *testing.T, s *Store, a approval.Approval) {
		t.Helper()
		change(t, s, a.Key, func(a approval.Approval) core.Change {
			return core.Change{Approval: a, Events: []approval.Event{said(a, approval.EventVote), {Type: approval.EventReason, Key: a.Key}}}
		})
	}
	for name, c := range map[string]struct {
		since func(t *testing.T, s *Store, i intruder, a approval.Approval)
		fails bool
	}{
		"nothing has changed": {func(*testing.T, *Store, intruder, approval.Approval) {}, false},
		"voted":               {func(t *testing.T, s *Store, _ intruder, a approval.Approval) { voted(t, s, a) }, false},
		"voted, put back": {func(t *testing.T, s *Store, i intruder, a approval.Approval) {
			was := i.row(marked[0], a.Key)
			voted(t, s, a)
			i.put(marked[0], a.Key, was)
		}, true},
		"voted, and the log was cut": {func(t *testing.T, s *Store, i intruder, a approval.Approval) {
			voted(t, s, a)
			i.exec("DELETE FROM events WHERE key = $1", a.Key)
		}, false},
		"voted by an older release": {func(t *testing.T, s *Store, _ intruder, a approval.Approval) {
			require.NoError(t, s.Append(ctx, nil, said(a, approval.EventVote)))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
				a := create(t, s, pendingApproval("bot"), core.Change{})
				voted(t, s, a)
				c.since(t, s, i, a)
				absences, err := s.Absences(ctx)
				require.NoError(t, err)
				_, err = s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
					return core.Change{Approval: a, Absences: absences.Revision, Events: []approval.Event{said(a, approval.EventVote)}}, nil
				})
				if c.fails {
					require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
					require.Contains(t, named(t, s), "approval "+a.Key)
					return
				}
				require.NoError(t, err)
				require.Empty(t, named(t, s))
			})
		})
	}
}

// A claim in the same commit as the vote before it finds that in the batch.
func TestAdversary_T9_ClaimInOneBatch(t *testing.T) {
	t.Parallel()
	s := openInMemory(t)
	a := create(t, s, pendingApproval("bot"), core.Change{})
	require.NoError(t, s.do(ctx, func(t *tx) error {
		before, err := t.approval(approvalByKey, a.Key)
		if err != nil {
			return err
		}
		a := *before
		a.Status, a.ResolvedAtMs = approval.Approved, nowMs()
		if a, err = t.apply(before, core.Change{Approval: a, Events: []approval.Event{said(a, approval.EventResolved)}}); err != nil {
			return err
		}
		next := a
		next.ClaimedAtMs = nowMs()
		_, err = t.apply(&a, core.Change{Approval: next, HandsOut: true, Events: []approval.Event{said(next, approval.EventClaimed)}})
		return err
	}))
	require.Empty(t, named(t, s))
}

// A grant that was removed covers nothing when its row is put back, a passkey that was removed
// signs nothing, an absence that was changed lends nothing when the older one is.
func TestAdversary_T9_EndedAndPutBack(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		grants, absences := marked[1], marked[4]
		of := kept(t, s, 1)
		look := core.Lookup{Owner: "bot", AgentID: "main", Fingerprint: "fp1", Grants: true}
		require.Len(t, found(t, s, look).Grants, 1)
		was := i.row(grants, of["grants"])
		dropped, err := s.DropGrants(ctx, core.GrantFilter{ID: of["grants"]}, func(g approval.Grant) approval.Event {
			return approval.Event{Type: approval.EventUngranted, Data: []byte(`{"grant":{"id":"` + g.ID + `"}}`)}
		})
		require.NoError(t, err)
		require.Len(t, dropped, 1)
		i.put(grants, of["grants"], was)
		require.Empty(t, found(t, s, look).Grants)

		passkeys := marked[2]
		use := func(challenge string) error {
			require.NoError(t, s.KeepChallenge(ctx, signin.Challenge{ID: challenge, Kind: signin.YesChallenge, ExpiresMs: nowMs() + day}))
			return s.SpendChallenge(ctx, core.PasskeyUse{Challenge: challenge, Passkey: "kp1", Before: 3, After: 3, AtMs: 1})
		}
		require.NoError(t, use("first"))
		was = i.row(passkeys, "kp1")
		require.NoError(t, s.ChangePasskeys(ctx, "p1", func([]signin.Passkey) (signin.PasskeyChange, error) {
			return signin.PasskeyChange{Remove: "kp1", Events: []approval.Event{
				{Type: approval.EventPasskeyRemoved, Data: []byte(`{"passkey":{"id":"kp1"}}`)}}}, nil
		}))
		i.put(passkeys, "kp1", was)
		require.Equal(t, approval.CodeNotFound, approval.CodeOf(use("second")))

		before := i.row(absences, "p1")
		_, err = s.Absent(ctx, nil, leaving(people.Absence{Person: "p1", To: "carol", SinceMs: 1, UntilMs: 9}))
		require.NoError(t, err)
		i.put(absences, "p1", before)
		all, err := s.Absences(ctx)
		require.NoError(t, err)
		require.Empty(t, all.All)
		require.Contains(t, named(t, s), "row p1 of table absences")
		_, err = s.Absent(ctx, nil, leaving(people.Absence{Person: "dave", SinceMs: 1, UntilMs: 9}))
		require.NoError(t, err)
		all, err = s.Absences(ctx)
		require.NoError(t, err)
		require.Len(t, all.All, 1, "what is not believed does not come back with the next change")
	})
}

// An absence that ended lends nothing when it is put back together with the count of changes, and the
// next change goes on from what the log says.
func TestAdversary_T9_AbsencesAndTheirCount(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		away := func(person string) people.Absences {
			t.Helper()
			all, err := s.Absent(ctx, nil, leaving(people.Absence{Person: person, To: "bob", SinceMs: 1, UntilMs: 9}))
			require.NoError(t, err)
			return all
		}
		away("p1")
		was := i.row(marked[4], "p1")
		_, err := s.Absent(ctx, nil, func(people.Absences) (core.AbsenceChange, error) {
			return core.AbsenceChange{Person: "p1", Event: approval.Event{Type: approval.EventBack}}, nil
		})
		require.NoError(t, err)
		require.Empty(t, named(t, s))
		i.put(marked[4], "p1", was)
		i.exec(setMeta, absencesName, "1")
		all, err := s.Absences(ctx)
		require.NoError(t, err)
		require.Equal(t, people.Absences{Revision: 3}, all)
		require.Contains(t, named(t, s), "the table absences")
		require.Equal(t, 4, int(away("p2").Revision))
		all, err = s.Absences(ctx)
		require.NoError(t, err)
		require.Len(t, all.All, 1, "what is not believed does not come back with the next change")
		require.Empty(t, named(t, s))
	})
}

// A request finds no row that is not believed, and becomes a new approval; timers do not stay on one.
func TestAdversary_T9_ANewCard(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		a := create(t, s, pendingApproval("bot"), core.Change{})
		look := core.Lookup{Owner: "bot", Fingerprint: a.Fingerprint, AgentID: "main", SessionKey: "s1"}
		require.Len(t, found(t, s, look).Same, 1)
		i.exec("UPDATE approvals SET body = body || ' ', timer_ms = 1 WHERE key = $1", a.Key)
		require.Empty(t, found(t, s, look).Same)
		keys, _, err := s.Due(ctx, nowMs(), 10)
		require.NoError(t, err)
		require.Empty(t, keys)
		require.Zero(t, count(t, s, "SELECT COUNT(*) FROM approvals WHERE timer_ms IS NOT NULL"))
	})
}

// undo takes back what a migration has added. One that makes indexes anew does so again.
func undo(i intruder, name string) {
	text, err := fs.ReadFile(migrations(), name)
	require.NoError(i.t, err)
	if strings.Contains(string(text), "DROP INDEX") {
		return
	}
	added := regexp.MustCompile(`CREATE (INDEX|TABLE) (\w+)|(ALTER TABLE \w+) ADD (COLUMN \w+)`)
	for _, m := range slices.Backward(added.FindAllStringSubmatch(string(text), -1)) {
		if m[1] != "" {
			i.exec("DROP " + m[1] + " " + m[2])
		} else {
			i.exec(m[3] + " DROP " + m[4])
		}
	}
}

// Rows get their MACs once for each key, also if somebody takes away what says that they did.
func TestAdversary_T9_NoSecondBlessing(t *testing.T) {
	t.Parallel()
	bare := func(i intruder) {
		i.exec("DELETE FROM meta WHERE name = $1", storeIDName)
		for _, m := range marked {
			i.exec("UPDATE " + m.name + " SET mac = ''")
		}
	}
	older := func(i intruder) { // as an older release left it
		i.exec("DELETE FROM meta WHERE name = $1", storeIDName)
		for _, m := range marked {
			i.exec("UPDATE " + m.name + " SET mac = ''")
		}
		i.exec("DELETE FROM goose_db_version WHERE version_id >= $1", macSchema)
		for _, name := range slices.Backward(names(i.t)) {
			if name < fmt.Sprintf("%05d", macSchema) {
				break
			}
			undo(i, name)
		}
	}
	forget := func(i intruder, mark string) { require.NoError(i.t, os.Remove(mark)) } // on another host
	for name, c := range map[string]struct {
		deed func(i intruder, mark string)
		says string
	}{
		"the first time":                   {func(i intruder, mark string) { older(i); forget(i, mark) }, ""},
		"older, and the key has made some": {func(i intruder, _ string) { older(i) }, "says that rows had MACs under this key"},
		"the id is gone":                   {func(i intruder, _ string) { i.exec("DELETE FROM meta WHERE name = $1", storeIDName) }, "so somebody removed the row"},
		"the id and all MACs":              {func(i intruder, _ string) { bare(i) }, "so somebody removed them"},
		"on another host":                  {func(i intruder, mark string) { bare(i); forget(i, mark) }, "so somebody removed them"},
		"on another host, said to be due": {func(i intruder, mark string) {
			bare(i)
			forget(i, mark)
			i.exec(setMeta, dueName, dueName)
		}, "so somebody removed them"},
		"the id is another text": {func(i intruder, _ string) { i.exec("UPDATE meta SET value = 'x' WHERE name = $1", storeIDName) }, "was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, s *Store, i intruder, o Options) {
				a := create(t, s, pendingApproval("bot"), core.Change{})
				require.NoError(t, s.Close())
				c.deed(i, o.KeyFile+markedSuffix)
				next, err := Open(ctx, o)
				if c.says != "" {
					require.ErrorContains(t, err, c.says)
					return
				}
				require.NoError(t, err)
				defer next.Close()
				require.NotEqual(t, s.keys.store, next.keys.store)
				_, err = next.Get(ctx, a.Key)
				require.NoError(t, err)
				require.Empty(t, named(t, next))
			})
		})
	}
}
