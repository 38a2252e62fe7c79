package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
	"approvalbot/internal/store/pgtest"
)

// An owner's id that somebody gave a row of his own is nobody's: a request under it is a new one, and
// it is that one's from then on.
func TestAdversary_T9_IDByHand(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		victim := pendingApproval("bot")
		victim.ID = "mine"
		victim = create(t, s, victim, core.Change{})
		for _, id := range []string{"mine", "other"} { // as the victim calls it, and not
			i.exec("INSERT INTO approval_ids (id, owner, key, mac) SELECT $1, 'mallory', key, mac FROM approval_ids "+
				"WHERE owner = 'bot'", id)
			look := core.Lookup{Owner: "mallory", ID: id}
			require.Nil(t, found(t, s, look).ByID)
			require.Nil(t, found(t, s, core.Lookup{Owner: "mallory", Supersedes: id}).Superseded)
			named, err := s.Keys(ctx, core.NameQuery{Owner: "mallory", ID: id})
			require.NoError(t, err)
			require.Empty(t, named)
			a := pendingApproval("mallory")
			a.ID = id
			a = create(t, s, a, core.Change{})
			require.Equal(t, a.Key, found(t, s, look).ByID.Key)
		}
		require.Equal(t, victim.Key, found(t, s, core.Lookup{Owner: "bot", ID: "mine"}).ByID.Key)
		require.Empty(t, named(t, s))
	})
}

// SQLite takes bytes for a text: a record that was made bytes has a hash that fits and is found by no
// look-up. Nothing counts by the records beside it, and it is named.
func TestAdversary_T9_RecordsOfBytes(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"type", "key"} {
		t.Run(column, func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
				if s.dialect.many {
					t.Skip("a column of text takes no bytes")
				}
				of, a := kept(t, s, 1), allowed(t, s)
				was := i.row(marked[0], a.Key)
				require.NoError(t, handOut(s, a.Key))
				i.put(marked[0], a.Key, was)
				grant, passkey := i.row(marked[1], of["grants"]), i.row(marked[2], of["passkeys"])
				_, err := s.DropGrants(ctx, core.GrantFilter{ID: of["grants"]}, func(g approval.Grant) approval.Event {
					return approval.Event{Type: approval.EventUngranted, Data: []byte(`{"grant":{"id":"` + g.ID + `"}}`)}
				})
				require.NoError(t, err)
				i.put(marked[1], of["grants"], grant)
				require.NoError(t, s.ChangePasskeys(ctx, "p1", func([]signin.Passkey) (signin.PasskeyChange, error) {
					return signin.PasskeyChange{Remove: "kp1", Events: []approval.Event{
						{Type: approval.EventPasskeyRemoved, Data: []byte(`{"passkey":{"id":"kp1"}}`)}}}, nil
				}))
				i.put(marked[2], of["passkeys"], passkey)

				i.exec("UPDATE events SET "+column+" = CAST("+column+" AS BLOB) WHERE type IN ($1, $2, $3)",
					string(approval.EventClaimed), string(approval.EventUngranted), string(approval.EventPasskeyRemoved))
				_, _, err = s.Verify(ctx)
				require.NoError(t, err)
				require.Error(t, handOut(s, a.Key))
				require.Empty(t, found(t, s, core.Lookup{Owner: "bot", AgentID: "main", Fingerprint: "fp1", Grants: true}).Grants)
				require.Error(t, s.SpendChallenge(ctx, core.PasskeyUse{Challenge: "c", RememberMs: nowMs() + day, Passkey: "kp1",
					Before: 3, After: 3, AtMs: 1}))
				require.Equal(t, 3, strings.Count(named(t, s), "is not text"))
				require.NoError(t, handOut(s, allowed(t, s).Key), "another one")
			})
		})
	}
}

// What a submit costs that an operator's grant covers does not grow with the grants that ended before.
func TestAdversary_T9_EndedGrantsCostNothing(t *testing.T) {
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		const made = 10 * day
		var events []approval.Event
		for n := range 2000 {
			events = append(events, approval.Event{AtMs: 1, Type: approval.EventUngranted, Data: fmt.Appendf(nil, `{"grant":{"id":"%d"}}`, n)})
		}
		require.NoError(t, s.Append(ctx, nil, events...))
		g := approval.Grant{ID: "live", Kind: approval.AlwaysGrant, Owner: "bot", AgentID: "main", Fingerprint: "f", CreatedAtMs: made}
		require.NoError(t, s.AddGrant(ctx, g, approval.Event{AtMs: made, Type: approval.EventGranted}))
		look := core.Lookup{Owner: "bot", AgentID: "main", Fingerprint: "f", Grants: true}
		require.Len(t, found(t, s, look).Grants, 1)
		require.Less(t, testing.AllocsPerRun(5, func() { found(t, s, look) }), 1000.0)
		was := i.row(marked[1], g.ID)
		_, err := s.DropGrants(ctx, core.GrantFilter{ID: g.ID}, func(g approval.Grant) approval.Event {
			return approval.Event{AtMs: made + 1, Type: approval.EventUngranted, Data: []byte(`{"grant":{"id":"` + g.ID + `"}}`)}
		})
		require.NoError(t, err)
		i.put(marked[1], g.ID, was)
		require.Empty(t, found(t, s, look).Grants)
	})
}

// A stored update that was handled and is put back is not handled again. Updates by hand, however many
// and old, keep none of a person's from being handled.
func TestAdversary_T9_UpdatesOfAnotherHand(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		inbound := marked[slices.IndexFunc(marked, func(m markedTable) bool { return m.name == "inbound" })]
		open := func() (ids []int64) {
			all, err := s.Inbound(ctx, "telegram", 5)
			require.NoError(t, err)
			for _, u := range all {
				ids = append(ids, u.ID)
			}
			return ids
		}
		receive := func(id int64) approval.InboundRef {
			in := approval.Inbound{InboundRef: approval.InboundRef{Source: "telegram", ID: id}, Body: []byte("tap"), ReceivedMs: nowMs()}
			require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{in}))
			return in.InboundRef
		}
		done := receive(7)
		was := i.row(inbound, "telegram 7")
		require.NoError(t, s.Append(ctx, &done, approval.Event{Type: approval.EventRefused}))
		i.put(inbound, "telegram 7", was)
		for n := range 20 {
			i.exec("INSERT INTO inbound (source, id, body, received_ms, waited, handled_ms, mac) VALUES ('telegram', $1, 'x', 1, 0, 0, '')",
				100+n)
		}
		require.Empty(t, open())
		require.Contains(t, named(t, s), "put back row telegram 7 of table inbound")
		before := count(t, s, "SELECT COUNT(*) FROM events")
		require.NoError(t, s.Append(ctx, &done, approval.Event{Type: approval.EventRefused}))
		require.ErrorIs(t, s.AddLink(ctx, signin.LoginLink{Hash: "l", Person: "alice"}, approval.Event{Type: approval.EventLoginLink}, &done),
			approval.ErrHandled)
		require.Equal(t, before, count(t, s, "SELECT COUNT(*) FROM events"), "as handled before, also if it was read just then")

		next := receive(8)
		require.Equal(t, []int64{8}, open())
		require.NoError(t, s.Append(ctx, &next))
		require.Equal(t, before, count(t, s, "SELECT COUNT(*) FROM events"), "what changed nothing is not on record")
		require.Empty(t, open())
	})
}

// Deliveries by hand are posted nowhere, however urgent they are, and keep no card from being posted.
// One that is recorded, redrawn and moved to another chat stays believed.
func TestAdversary_T9_DeliveriesOfAnotherHand(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("7", 1, nowMs())}})
		real := a.Deliveries[0]
		deliveries := marked[slices.IndexFunc(marked, func(m markedTable) bool { return m.name == "deliveries" })]
		row := i.row(deliveries, a.Key+" "+real.ID)
		for n := range queueLength + 5 {
			row[1] = fmt.Sprint("evil", n)
			i.exec("INSERT INTO deliveries VALUES ("+placeholders(len(row))+")", row...)
		}
		i.exec("UPDATE deliveries SET chat = '666' WHERE id = 'evil0'")
		i.exec("UPDATE deliveries SET turn = -100 WHERE id <> $1", real.ID)
		var got []string
		for {
			place, ok, _, err := s.ClaimChat(ctx, "telegram", nowMs())
			require.NoError(t, err)
			if !ok {
				break
			}
			d, ok, err := s.NextDelivery(ctx, place, nowMs())
			require.NoError(t, err)
			if ok {
				got = append(got, d.ID)
				require.NoError(t, s.Record(ctx, approval.Delivered{Was: d, Key: d.Key, ID: d.ID, Revision: d.Revision, MessageID: "5",
					State: approval.Sent, Shown: true, Outcome: approval.Answered}))
			}
			require.NoError(t, s.ReleaseChat(ctx, place, 0))
		}
		require.Equal(t, []string{real.ID}, got)
		require.Zero(t, count(t, s, "SELECT COUNT(*) FROM deliveries WHERE due_ms > 0"))
		one := func() approval.Delivery {
			t.Helper()
			a, err := s.Get(ctx, a.Key)
			require.NoError(t, err)
			require.Len(t, a.Deliveries, 1)
			return a.Deliveries[0]
		}
		require.True(t, one().Shown)
		i.exec("DELETE FROM deliveries WHERE id <> $1", real.ID)
		change(t, s, a.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a, Redraw: true} })
		d := one()
		moved := approval.Target{Channel: "telegram", To: "-777"}
		require.NoError(t, s.Record(ctx, approval.Delivered{Was: d, Key: d.Key, ID: d.ID, Revision: d.Revision, State: approval.Queued,
			DueMs: nowMs(), MovedTo: &moved, Outcome: approval.Answered}))
		require.Equal(t, "-777", one().Target.To)
		require.Empty(t, named(t, s))
		i.exec("UPDATE deliveries SET chat = '666'")
		require.NoError(t, s.do(ctx, func(t *tx) error {
			return t.move(approval.Target{Channel: "telegram", To: "666"}, approval.Target{Channel: "telegram", To: "667"})
		}))
		got2, err := s.Get(ctx, a.Key)
		require.NoError(t, err)
		require.Empty(t, got2.Deliveries, "a chat that moves makes nothing believed")
	})
}

func putBack(t *testing.T, s *Store) bool {
	t.Helper()
	put, err := s.PutBack(ctx)
	require.NoError(t, err)
	return put
}

// Two instances open a database that was put back: once one has settled it, the other does not take back
// what is allowed since.
func TestAdversary_T9_SettledByAnother(t *testing.T) {
	t.Parallel()
	o := pgOptions(t, pgtest.New(t))
	openAndClose(t, o, func(s *Store) {
		require.NoError(t, s.do(ctx, func(t *tx) error { return t.put(setMeta, copyName, isBackup) }))
	})
	var both []*Store
	for range 2 {
		s, err := Open(ctx, o)
		require.NoError(t, err)
		both = append(both, start(t, s))
		require.True(t, putBack(t, s))
	}
	require.NoError(t, both[0].Settled(ctx))
	require.False(t, putBack(t, both[1]))
}
