package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/proof"
)

// said gives a vote from a chat, as its adapter does.
func said(user string, d approval.Decision, note string) core.Ballot {
	return core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: user}, Decision: d, Note: note}
}

// A note goes with the call if its vote counts, as it was when the call was settled, and reaches the claim and the
// receipt; the reason stays what it was.
func TestNotesOfTheVotesThatCount(t *testing.T) {
	d := newFixture(t)
	vote := func(a approval.Approval, b core.Ballot) approval.Approval {
		t.Helper()
		a, err := d.Vote(t.Context(), a.Key, b)
		require.NoError(t, err)
		return a
	}
	byAlice, byBob := approval.Note{By: "person:alice", Text: "tests first"}, approval.Note{By: "person:bob", Text: "then tell me"}

	a := vote(d.submit(t, "two"), said("1", approval.AllowOnce, " tests\n first "))
	require.Empty(t, a.Notes(), "it is pending")
	a = vote(a, said("2", approval.AllowOnce, "then tell me"))
	require.Equal(t, []approval.Note{byAlice, byBob}, a.Notes())
	require.Empty(t, a.Reason)
	got, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "c"})
	require.NoError(t, err)
	require.Equal(t, []approval.Note{byAlice, byBob}, got.Approval.Notes())
	receipt, err := proof.ReceiptFor(got.Approval, "desk")
	require.NoError(t, err)
	require.Equal(t, proof.NotesHash(a.Notes()), receipt.NotesHash)
	a, err = d.Revoke(t.Context(), core.Caller{Token: "ops", MayDecide: true}, d.noted(t, "tests first").Code, "")
	require.NoError(t, err)
	require.Empty(t, a.Notes(), "it was taken back")

	a = vote(d.submit(t, "two"), said("1", approval.AllowOnce, "old"))
	a = vote(a, said("1", approval.AllowOnce, "tests first"))
	require.Len(t, a.Votes, 1)
	a = vote(a, said("2", approval.AllowOnce, ""))
	require.Equal(t, []approval.Note{byAlice}, a.Notes(), "the vote that was changed is gone, and its note")

	a = vote(d.submit(t, "two", func(c *approval.Call) { c.Params = []byte(`{"n":3}`) }), said("1", approval.AllowOnce, "tests first"))
	a, err = d.VoteAs(t.Context(), bob, a.Code, approval.Deny, "no", "then tell me")
	require.NoError(t, err)
	require.Equal(t, []approval.Note{byBob}, a.Notes(), "of a denied one that which denied it")
	require.Equal(t, "no", a.Reason)

	a = vote(d.submit(t, "ask", func(c *approval.Call) { c.Params = []byte(`{"n":4}`) }), said("1", approval.AllowOnce, ""))
	_, err = d.Vote(t.Context(), a.Key, said("1", approval.AllowOnce, "too late"))
	require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err), "nobody takes a late note for given")
	vote(a, said("1", approval.AllowOnce, ""))
}

// noted is a call that alice has allowed with that note.
func (d *fixture) noted(t *testing.T, note string) approval.Approval {
	t.Helper()
	a := d.submit(t, "ask", func(c *approval.Call) { c.Params = []byte(`{"note":"` + note + `"}`) })
	a, err := d.Vote(t.Context(), a.Key, said("1", approval.AllowOnce, note))
	require.NoError(t, err)
	return a
}

// What a note may not be refuses the vote, in one sentence, and no vote counted; secrets are redacted.
func TestANoteThatCannotBeHandedOn(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	for note, want := range map[string]string{
		strings.Repeat("x", 501):          "The note has 501 characters; at most 500 reach the agent, so your answer was not counted. Shorten it.",
		"run\u202eit":                     "The note has a character that cannot be seen, U+202E, at place 4, so your answer was not counted. Write it again.",
		"a\u200bb":                        "U+200B",
		"a \U000E0041":                    "U+E0041",
		strings.Repeat("password=x ", 45): "characters; at most 500",
	} {
		got, err := d.Vote(t.Context(), a.Key, said("1", approval.AllowOnce, note))
		require.ErrorContains(t, err, want)
		require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
		require.Empty(t, got.Votes)
	}
	token := "ghp_" + strings.Repeat("a1B2", 9)
	a, err := d.Vote(t.Context(), a.Key, said("1", approval.AllowOnce, "use "+token+"\u00a0please ❤️"))
	require.NoError(t, err)
	require.Equal(t, "use [REDACTED] please ❤", a.Notes()[0].Text)
	require.NotContains(t, string(a.Body()), token)
}

// Where passkeys sign, a note does not go with the yes: what is signed does not cover it. It goes with a deny.
func TestASignedYesTakesNoNote(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	b := said("1", approval.AllowOnce, "tests first")
	b.Signed = &core.SignedYes{}
	_, err := d.Vote(t.Context(), a.Key, b)
	require.ErrorContains(t, err, "cannot have a note")
	require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
}

// The second step to an R4 call counts with the note that it was asked with, at every instance, and no other; a
// plain tap carries none, and what was typed and not confirmed is forgotten.
func TestTheSecondStepCarriesItsNote(t *testing.T) {
	for name, confirm := range map[string]func(d *fixture, a approval.Approval) (string, string){
		"its own":   func(d *fixture, a approval.Approval) (string, string) { return "tests first", "tests first" },
		"none":      func(d *fixture, a approval.Approval) (string, string) { return "", "" },
		"another's": func(d *fixture, a approval.Approval) (string, string) { return "run it all", "-" },
	} {
		d := newFixture(t)
		other := d.another()
		for _, instance := range []*fixture{d, other} {
			require.NoError(t, instance.ShareSeed([32]byte{1}))
		}
		a := d.submit(t, "grave")
		b := said("1", approval.AllowOnce, "tests first")
		b.Chat = &ops
		for _, x := range a.Deliveries {
			require.NoError(t, d.store.Record(t.Context(), approval.Delivered{ID: x.ID, Key: x.Key, Was: x, Revision: x.Revision,
				State: approval.Sent, MessageID: "7", Shown: true}))
		}
		a, err := d.Vote(t.Context(), a.Key, b)
		require.Equal(t, core.CodeUnconfirmed, approval.CodeOf(err), name)
		require.Empty(t, a.Votes)
		require.Len(t, a.Drafts, 1)
		asked, want := confirm(d, a)
		_, proof := d.Chats().Confirmation(a, b.Voter, approval.AllowOnce, asked)
		b.Note, b.Proof = "", proof
		a, err = other.Vote(t.Context(), a.Key, b)
		if want == "-" {
			require.Equal(t, core.CodeUnconfirmed, approval.CodeOf(err), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, approval.Approved, a.Status)
		require.Empty(t, a.Drafts)
		require.Equal(t, want != "", len(a.Notes()) == 1 && a.Notes()[0].Text == want, name)
	}
}

// A note goes with the call that it was said of: neither with later calls that the same yes covers, nor with a run
// that others allow.
func TestANoteIsOfOneCall(t *testing.T) {
	d := newFixture(t)
	session := func(c *approval.Call) { c.SessionKey = "s" }
	a := d.submit(t, "ask", session)
	a, err := d.Vote(t.Context(), a.Key, said("1", approval.AllowSession, "tests first"))
	require.NoError(t, err)
	require.Len(t, a.Notes(), 1)
	later := d.submit(t, "ask", session, func(c *approval.Call) { c.Params = []byte(`{"path":"b"}`) })
	require.Equal(t, approval.Approved, later.Status)
	require.Empty(t, later.Notes())

	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "1"})
	require.NoError(t, err)
	_, err = d.Report(t.Context(), agent, a.ID, "1", approval.Result{Status: "failed"})
	require.NoError(t, err)
	a, err = d.Retry(t.Context(), bob, a.Code, false)
	require.NoError(t, err)
	require.Empty(t, a.Notes(), "bob let it run again, and said nothing")
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "2"})
	require.NoError(t, err)
	_, err = d.Report(t.Context(), agent, a.ID, "2", approval.Result{Status: "failed"})
	require.NoError(t, err)
	b := said("1", approval.Retry, "with --force")
	b.Opens = true
	a, err = d.Vote(t.Context(), a.Key, b)
	require.NoError(t, err)
	require.Equal(t, []approval.Note{{By: "person:alice", Text: "with --force"}}, a.Notes())
}

// Who says yes again without words keeps what they said before.
func TestASecondYesKeepsTheNote(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "two")
	for _, b := range []core.Ballot{said("1", approval.AllowOnce, "only staging"), said("1", approval.AllowOnce, ""), said("2", approval.AllowOnce, "")} {
		var err error
		a, err = d.Vote(t.Context(), a.Key, b)
		require.NoError(t, err)
	}
	require.Equal(t, []approval.Note{{By: "person:alice", Text: "only staging"}}, a.Notes())
}
