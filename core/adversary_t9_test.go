package core_test

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/store"
)

// intruder writes to a desk's database beside it, and has not its key.
type intruder struct {
	t  *testing.T
	db *sql.DB
}

// onDisk is newFixture on a file, and an intruder in that file.
func onDisk(t *testing.T) (*fixture, intruder) {
	t.Helper()
	d, dir := newFixture(t), t.TempDir()
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite:" + filepath.Join(dir, "d.db"),
		KeyFile: filepath.Join(dir, "d.key")})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	t.Cleanup(func() { require.NoError(t, s.Close()); require.NoError(t, <-done) })
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "d.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	d.store = s
	d.Gate = core.NewGate(s.CoreStores(), d.rules, slog.New(slog.DiscardHandler))
	return d, intruder{t, db}
}

func (i intruder) exec(statement string, args ...any) {
	i.t.Helper()
	_, err := i.db.Exec(statement, args...)
	require.NoError(i.t, err)
}

// keep gives a function that puts the rows of a table back as they are now.
func (i intruder) keep(table string) (putBack func()) {
	i.t.Helper()
	i.exec("DROP TABLE IF EXISTS kept_" + table)
	i.exec("CREATE TABLE kept_" + table + " AS SELECT * FROM " + table)
	return func() {
		i.t.Helper()
		i.exec("DELETE FROM " + table)
		i.exec("INSERT INTO " + table + " SELECT * FROM kept_" + table)
	}
}

// problems are what audit verify says of the rows.
func problems(t *testing.T, d *fixture) string {
	t.Helper()
	var all []string
	_, err := d.store.CheckRows(t.Context(), 0, nil, func(p string) { all = append(all, p) })
	require.NoError(t, err)
	return strings.Join(all, "\n")
}

// onlyThese is a directory of alice and bob in which only these accounts decide, and those of
// these people are known.
func onlyThese(t *testing.T, known, decide map[string]string) *people.Directory {
	t.Helper()
	r := people.Rights{AllowedUsers: map[string][]string{"telegram": {}}, Tokens: map[string]string{}}
	for name, id := range known {
		r.People = append(r.People, people.Person{Name: name, Accounts: map[string]string{"telegram": id}})
	}
	for name, id := range decide {
		r.AllowedUsers["telegram"] = append(r.AllowedUsers["telegram"], id)
		r.Tokens[name+"-laptop"] = name
	}
	d, err := people.NewDirectory(r)
	require.NoError(t, err)
	return d
}

// logged are the log's records of that type.
func logged(t *testing.T, d *fixture, kind approval.EventType) (out []approval.Entry) {
	t.Helper()
	all, err := d.store.Log(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range all {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

// An allow that waits to be claimed falls with the authority of who gave it, is on record, and
// its owner is told; a grant covers nothing any more.
func TestAdversary_T9_FallsWithItsGiver(t *testing.T) {
	both := map[string]string{"alice": "1", "bob": "2"}
	onlyAlice, withCarol := map[string]string{"alice": "1"}, map[string]string{"alice": "1", "carol": "2"}
	for name, c := range map[string]struct {
		tool          string
		known, decide map[string]string
		falls         bool
	}{
		"nothing has changed":                 {"ask", both, both, false},
		"who gave it was taken out":           {"ask", onlyAlice, onlyAlice, true},
		"who gave it may not decide":          {"ask", both, onlyAlice, true},
		"one of two was taken out":            {"two", onlyAlice, onlyAlice, true},
		"one of two may not decide":           {"two", both, onlyAlice, true},
		"the account is another person's":     {"ask", withCarol, withCarol, true},
		"policy has allowed it, not a person": {"allow", onlyAlice, onlyAlice, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			a := d.submit(t, c.tool)
			for _, by := range map[string][]core.Caller{"ask": {bob}, "two": {alice, bob}}[c.tool] {
				_, err := d.VoteAs(t.Context(), by, a.Code, approval.AllowOnce, "", "")
				require.NoError(t, err)
			}
			d.use(func(r *core.Rules) { r.People = onlyThese(t, c.known, c.decide) })
			_, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
			if !c.falls {
				require.NoError(t, err)
				return
			}
			require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
			require.ErrorContains(t, err, a.Code)
			require.ErrorContains(t, err, "bob")
			require.Len(t, logged(t, d, approval.EventRefused), 1)
			require.Len(t, logged(t, d, approval.EventRevoked), 1)
			require.Empty(t, logged(t, d, approval.EventClaimed))
			d.use(func(r *core.Rules) { r.People = onlyThese(t, both, both) })
			_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
			require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err), "it does not come back with them")
		})
	}
}

// A claim that is said again goes on to be answered: the call was handed out by then.
func TestAdversary_T9_ARepeatedClaimIsAnswered(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	_, err := d.VoteAs(t.Context(), bob, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	for range 2 {
		_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "mine"})
		require.NoError(t, err)
		d.use(func(r *core.Rules) {
			r.People = onlyThese(t, map[string]string{"alice": "1"}, map[string]string{"alice": "1"})
		})
	}
}

// A session grant and an always grant cover a call as long as who gave them may decide it.
func TestAdversary_T9_GrantsFallWithTheirGiver(t *testing.T) {
	both := map[string]string{"alice": "1", "bob": "2"}
	for _, decision := range []approval.Decision{approval.AllowSession, approval.AllowAlways} {
		t.Run(string(decision), func(t *testing.T) {
			d := newFixture(t)
			_, err := d.VoteAs(t.Context(), bob, d.submit(t, "ask").Code, decision, "", "")
			require.NoError(t, err)
			require.Equal(t, approval.Approved, d.submit(t, "ask").Status)
			d.use(func(r *core.Rules) { r.People = onlyThese(t, both, map[string]string{"alice": "1"}) })
			require.Equal(t, approval.Pending, d.submit(t, "ask").Status, "bob may not decide any more")
		})
	}
}

// An approval whose row is older than the log lets nothing run: what was said since was a no, or
// less than before. Steps that are not on record do not hide it, and neither do those that are.
func TestAdversary_T9_AnOlderRow(t *testing.T) {
	carl := core.Caller{Token: "carl-laptop", Person: "carl", MayDecide: true}
	for name, c := range map[string]struct {
		tool   string
		before func(d *fixture, a approval.Approval)
		since  func(d *fixture, a approval.Approval) error
		after  func(d *fixture, a approval.Approval) // a yes to the older row
	}{
		"denied": {"ask", nil, func(d *fixture, a approval.Approval) error {
			_, err := d.VoteAs(t.Context(), alice, a.Code, approval.Deny, "never", "")
			return err
		}, nil},
		"withdrawn": {"ask", nil, func(d *fixture, a approval.Approval) error {
			_, err := d.Withdraw(t.Context(), agent, a.ID, "")
			return err
		}, nil},
		"joined by the approver": {"ask", nil, func(d *fixture, a approval.Approval) error {
			_, _, err := d.Submit(t.Context(), agent, call("ask", func(c *approval.Call) {
				c.Requester = &approval.Requester{Channel: "telegram", UserID: "2"}
			}))
			return err
		}, nil},
		"narrowed": {"two", func(d *fixture, a approval.Approval) {
			_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowAlways, "", "")
			require.NoError(t, err)
		}, func(d *fixture, a approval.Approval) error {
			_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
			return err
		}, func(d *fixture, a approval.Approval) {
			_, _ = d.VoteAs(t.Context(), bob, a.Code, approval.AllowAlways, "", "")
		}},
		"revoked": {"ask", func(d *fixture, a approval.Approval) { d.allow(t, a, bob) },
			func(d *fixture, a approval.Approval) error {
				_, err := d.Revoke(t.Context(), core.Caller{Token: "op", MayDecide: true}, a.Code, "")
				return err
			}, nil},
		"reported": {"ask", func(d *fixture, a approval.Approval) {
			d.allow(t, a, bob)
			_, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "1"})
			require.NoError(t, err)
		}, func(d *fixture, a approval.Approval) error {
			_, err := d.Report(t.Context(), agent, a.ID, "1", approval.Result{Status: "succeeded"})
			return err
		}, nil},
		"a round denied": {"two", func(d *fixture, a approval.Approval) {
			d.allow(t, a, alice)
			d.allow(t, a, carl)
			_, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "0"})
			require.NoError(t, err)
			_, err = d.Report(t.Context(), agent, a.ID, "0", approval.Result{Status: "failed"})
			require.NoError(t, err)
			_, err = d.Retry(t.Context(), alice, a.Code, false)
			require.NoError(t, err)
		}, func(d *fixture, a approval.Approval) error {
			_, err := d.VoteAs(t.Context(), bob, a.Code, approval.Deny, "no more", "")
			return err
		}, func(d *fixture, a approval.Approval) {
			_, _ = d.VoteAs(t.Context(), carl, a.Code, approval.Retry, "", "")
		}},
	} {
		for then, goesOn := range map[string]func(d *fixture, a approval.Approval){
			"": func(*fixture, approval.Approval) {},
			"a step without a record": func(d *fixture, a approval.Approval) {
				_, err := d.store.Update(t.Context(), a.Key, func(a approval.Approval) (core.Change, error) {
					return core.Change{Approval: a}, nil
				})
				require.NoError(t, err)
			},
			"a step on record": func(d *fixture, a approval.Approval) {
				_, err := d.store.Update(t.Context(), a.Key, func(a approval.Approval) (core.Change, error) {
					return core.Change{Approval: a, Events: []approval.Event{{Type: approval.EventJoined, Key: a.Key}}}, nil
				})
				require.NoError(t, err)
			},
		} {
			t.Run(name+", put back, "+then, func(t *testing.T) {
				d, i := onDisk(t)
				d.needingBeside(t, people.Person{Name: "carl", Accounts: map[string]string{"telegram": "3"}, Roles: []string{"x"}})
				a := d.submit(t, c.tool)
				if c.before != nil {
					c.before(d, a)
				}
				putBack := i.keep("approvals")
				require.NoError(t, c.since(d, a))
				require.Empty(t, problems(t, d))
				putBack()
				i.exec("DELETE FROM grants") // a cool-down
				require.Contains(t, problems(t, d), "approval "+a.Key)
				goesOn(d, a)
				if c.after == nil {
					_, _ = d.VoteAs(t.Context(), bob, a.Code, approval.AllowOnce, "", "")
				} else {
					c.after(d, a)
				}
				_, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "1"})
				require.Error(t, err)
				left, err := d.store.Grants(t.Context(), core.GrantFilter{Owner: "agent"})
				require.NoError(t, err)
				require.Empty(t, left)
				require.Contains(t, problems(t, d), "approval "+a.Key)
			})
		}
	}
}

// Who came back lends nothing when the absence is put back together with the count of changes, to an
// instance that starts then.
func TestAdversary_T9_AbsencesAndTheirCount(t *testing.T) {
	d, i := onDisk(t)
	d.needing(t)
	d.away(t, alice, "alice", "bob")
	putBack := i.keep("absences")
	_, err := d.Absences().SetBack(t.Context(), alice, "alice")
	require.NoError(t, err)
	putBack()
	i.exec("UPDATE meta SET value = '1' WHERE name = 'absences'")
	again := d.another()
	require.NoError(t, again.Absences().Learn(t.Context()))
	a := again.submit(t, "ops")
	require.Equal(t, approval.Pending, again.allow(t, a, bob).Status, "bob for alice, who is back")
}

// A grant that was ended and put back does not let run what waits to be claimed by it.
func TestAdversary_T9_EndedGrantPutBackAtClaim(t *testing.T) {
	d, i := onDisk(t)
	_, err := d.VoteAs(t.Context(), bob, d.submit(t, "ask").Code, approval.AllowAlways, "", "")
	require.NoError(t, err)
	a := d.submit(t, "ask")
	require.Equal(t, approval.Approved, a.Status)
	putBack := i.keep("grants")
	n, err := d.Grants().Drop(t.Context(), core.Caller{Token: "op", MayDecide: true}, core.GrantFilter{Owner: "agent"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	putBack()
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
}

// People who leave and come back between the yes and the claim take no yes away; who may no longer
// allow the call, or has not the role that was lent any more, does.
func TestAdversary_T9_AwayBeforeTheClaim(t *testing.T) {
	lose := func(d *fixture, change func(r *people.Rights)) {
		rights := people.Rights{
			People: []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}, Roles: []string{"ops"}},
				{Name: "bob", Accounts: map[string]string{"telegram": "2"}}},
			AllowedUsers: map[string][]string{"telegram": {"1", "2"}},
			Tokens:       map[string]string{"alice-laptop": "alice", "bob-laptop": "bob"},
		}
		change(&rights)
		people, err := people.NewDirectory(rights)
		require.NoError(t, err)
		d.use(func(r *core.Rules) { r.People = people })
	}
	for name, c := range map[string]struct {
		tool  string
		by    []core.Caller
		lent  bool // bob stands in for alice when they vote
		since func(d *fixture)
		falls bool
	}{
		"one of two leaves and lends to the other": {"two", []core.Caller{alice, bob}, false,
			func(d *fixture) { d.away(t, alice, "alice", "bob") }, false},
		"who lent is back": {"ops", []core.Caller{bob}, true,
			func(d *fixture) {
				_, err := d.Absences().SetBack(t.Context(), alice, "alice")
				require.NoError(t, err)
			}, false},
		"nothing has changed": {"ops", []core.Caller{bob}, true, func(d *fixture) { lose(d, func(*people.Rights) {}) }, false},
		"who lent was taken out": {"ops", []core.Caller{bob}, true, func(d *fixture) {
			lose(d, func(r *people.Rights) { r.People, r.Tokens = r.People[1:], map[string]string{"bob-laptop": "bob"} })
		}, true},
		"who lent may not decide": {"ops", []core.Caller{bob}, true, func(d *fixture) {
			lose(d, func(r *people.Rights) {
				r.AllowedUsers["telegram"], r.Tokens = []string{"2"}, map[string]string{"bob-laptop": "bob"}
			})
		}, true},
		"who lent has lost the role": {"ops", []core.Caller{bob}, true, func(d *fixture) {
			lose(d, func(r *people.Rights) { r.People[0].Roles = nil })
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.needing(t)
			if c.lent {
				d.away(t, alice, "alice", "bob")
			}
			a := d.submit(t, c.tool)
			for _, by := range c.by {
				a = d.allow(t, a, by)
			}
			require.Equal(t, approval.Approved, a.Status)
			c.since(d)
			_, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
			require.Equal(t, c.falls, approval.CodeOf(err) == approval.CodeNotClaimable, "%v", err)
			require.Equal(t, c.falls, err != nil)
		})
	}
}

// A request under the id of a row that was changed is told to take another id, and then asks anew.
func TestAdversary_T9_ARequestUnderTheIDOfAChangedRow(t *testing.T) {
	d, i := onDisk(t)
	named := func(id string) func(*approval.Call) { return func(c *approval.Call) { c.ID = id } }
	a := d.submit(t, "ask", named("deploy-1"))
	i.exec("UPDATE approvals SET body = body || ' ' WHERE key = ?", a.Key)
	_, _, err := d.Submit(t.Context(), agent, call("ask", named("deploy-1")))
	require.Equal(t, approval.CodeIDConflict, approval.CodeOf(err))
	require.ErrorContains(t, err, "Ask under another id")
	_, _, err = d.Submit(t.Context(), agent, call("ask", func(c *approval.Call) { c.ID, c.Supersedes = "deploy-2", "deploy-1" }))
	require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
	b := d.submit(t, "ask", named("deploy-2"))
	require.Equal(t, approval.Pending, b.Status)
	require.NotEqual(t, a.Key, b.Key)
}
