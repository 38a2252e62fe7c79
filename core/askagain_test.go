package core_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// denied asks for a call that alice denies, and gives it.
func (d *fixture) denied(t *testing.T, tool string) approval.Approval {
	t.Helper()
	a := d.submit(t, tool)
	a, err := d.VoteAs(t.Context(), alice, a.Code, approval.Deny, "not now", "")
	require.NoError(t, err)
	require.EqualValues(t, "denied", d.submit(t, tool).Status, "the cool-down")
	return a
}

func (d *fixture) endCoolDown(t *testing.T, a approval.Approval, user string) (approval.Approval, error) {
	t.Helper()
	return d.EndCoolDown(t.Context(), a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: user}})
}

// The giver, or another who may deny the call, ends its cool-down: the next such call asks, and nothing is allowed.
func TestEndCoolDown(t *testing.T) {
	for _, tool := range []string{"ask", "two", "grave"} { // a quorum and R4 make no difference
		for name, user := range map[string]string{"the giver": "1", "another approver": "2"} {
			t.Run(tool+", "+name, func(t *testing.T) {
				d := newFixture(t)
				a := d.denied(t, tool)
				after, err := d.endCoolDown(t, a, user)
				require.NoError(t, err)
				require.Contains(t, core.AskAgainText(after), "asks again from now on")
				require.EqualValues(t, "denied", after.Status)
				require.EqualValues(t, "pending", d.submit(t, tool).Status)
				d.told(t, a, approval.EventUngranted, 1)

				again, err := d.endCoolDown(t, a, user)
				require.NoError(t, err, "a second tap")
				require.Equal(t, core.AskAgainText(after), core.AskAgainText(again))
				d.told(t, a, approval.EventUngranted, 1)
			})
		}
	}
}

// told counts the approval's entries of that type in the log.
func (d *fixture) told(t *testing.T, a approval.Approval, e approval.EventType, n int) {
	t.Helper()
	all, err := d.store.Log(t.Context(), 0, 1000)
	require.NoError(t, err)
	have := 0
	for _, x := range all {
		if x.Key == a.Key && x.Type == e {
			have++
		}
	}
	require.Equal(t, n, have, e)
}

// Who may not deny the call, asked for it, or was removed by a reload does not end its cool-down; the attempt is
// on record.
func TestEndCoolDown_OnlyWhoMayDeny(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask", func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob"} })
	a, err := d.VoteAs(t.Context(), alice, a.Code, approval.Deny, "", "")
	require.NoError(t, err)
	_, err = d.endCoolDown(t, a, "3")
	require.Equal(t, approval.CodeNotAnApprover, approval.CodeOf(err))
	_, err = d.endCoolDown(t, a, "2")
	require.Equal(t, approval.CodeSelfApproval, approval.CodeOf(err), "bob asked")
	d.use(func(r *core.Rules) {
		var err error
		r.People, err = people.NewDirectory(people.Rights{People: []people.Person{{Name: "bob"}}})
		require.NoError(t, err)
	})
	_, err = d.endCoolDown(t, a, "1")
	require.Equal(t, approval.CodeNotAnApprover, approval.CodeOf(err), "alice is no approver any more")
	d.told(t, a, approval.EventRefused, 3)
	d.told(t, a, approval.EventUngranted, 0)
	require.EqualValues(t, "denied", d.submit(t, "ask").Status)
}

// The button is on a card as long as the cool-down that its deny left, and says so where it is over or another's.
func TestEndCoolDown_WhatIsOver(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newFixture(t)
			a := d.denied(t, "ask")
			require.True(t, d.shown(t, a).Again)
			time.Sleep(10 * time.Minute)
			require.False(t, d.shown(t, a).Again)
			after, err := d.endCoolDown(t, a, "1")
			require.NoError(t, err)
			require.Equal(t, "No cool-down refuses that call now.", core.AskAgainText(after))
			d.told(t, a, approval.EventUngranted, 0)
		})
	})
	t.Run("by an operator", func(t *testing.T) {
		d := newFixture(t)
		a := d.denied(t, "ask")
		_, err := d.Grants().Drop(t.Context(), bob, core.GrantFilter{Owner: "agent"})
		require.NoError(t, err)
		after, err := d.endCoolDown(t, a, "1")
		require.NoError(t, err)
		require.Equal(t, "No cool-down refuses that call now.", core.AskAgainText(after))
		require.False(t, d.shown(t, after).Again)
	})
	t.Run("denied again since", func(t *testing.T) {
		d := newFixture(t)
		a := d.denied(t, "ask")
		_, err := d.endCoolDown(t, a, "1")
		require.NoError(t, err)
		b := d.denied(t, "ask")
		_, err = d.endCoolDown(t, a, "1")
		require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err))
		require.ErrorContains(t, err, "the card of that newer decision")
		require.EqualValues(t, "denied", d.submit(t, "ask").Status)
		_, err = d.endCoolDown(t, b, "1")
		require.NoError(t, err)
		require.EqualValues(t, "pending", d.submit(t, "ask").Status)
	})
	t.Run("not denied", func(t *testing.T) {
		d := newFixture(t)
		a := d.submit(t, "ask")
		_, err := d.endCoolDown(t, a, "1")
		require.Equal(t, approval.CodeDecisionNotOffered, approval.CodeOf(err))
	})
}

func (d *fixture) shown(t *testing.T, a approval.Approval) card.Card {
	t.Helper()
	c, err := d.Card(t.Context(), a)
	require.NoError(t, err)
	return c
}

// A deny that ended a retry round left a cool-down too, of the call and of further rounds; the card offers its end.
func TestEndCoolDown_OfARetryRound(t *testing.T) {
	d := newFixture(t)
	a := d.allowed(t, "two")
	d.ran(t, a, "1", "failed")
	_, err := d.Retry(t.Context(), alice, a.Code, false)
	require.NoError(t, err)
	_, err = d.VoteAs(t.Context(), bob, a.Code, approval.Deny, "", "")
	require.NoError(t, err)
	require.EqualValues(t, "denied", d.submit(t, "two").Status)
	a, err = d.ByKey(t.Context(), a.Key)
	require.NoError(t, err)
	require.True(t, d.shown(t, a).Again)
	_, err = d.Retry(t.Context(), alice, a.Code, false)
	require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
	after, err := d.endCoolDown(t, a, "2")
	require.NoError(t, err)
	require.EqualValues(t, "approved", after.Status)
	require.False(t, d.shown(t, after).Again)
	_, err = d.Retry(t.Context(), alice, a.Code, false)
	require.NoError(t, err)
	require.EqualValues(t, "pending", d.submit(t, "two").Status)
}

// Many taps at once end one cool-down, once.
func TestEndCoolDown_AtOnce(t *testing.T) {
	d := newFixture(t)
	a := d.denied(t, "ask")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := d.endCoolDown(t, a, fmt.Sprint(1+i%2))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	d.told(t, a, approval.EventUngranted, 1)
	require.EqualValues(t, "pending", d.submit(t, "ask").Status)
}
