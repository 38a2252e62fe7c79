package proof

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// The receipt is of the notes that came with the claim: a relay between can neither put words into a person's mouth
// nor take any away.
func TestAReceiptIsOfItsNotes(t *testing.T) {
	s := signer(t, 1, Receipts)
	a := claimed()
	a.ClaimID = "mine"
	a.Votes = []approval.Vote{{Approver: approval.UserRequest, Verdict: approval.Approve, Voter: &approval.Voter{Person: "alice"}, Note: "run the tests first"}}
	notes := a.Notes()
	require.NotEmpty(t, notes)
	r, err := ReceiptFor(a, "https://desk.example")
	require.NoError(t, err)
	require.Equal(t, NotesHash(notes), r.NotesHash)
	jws, err := s.Sign(r)
	require.NoError(t, err)
	_, err = Verify(jws, KeysOf(s.Public()), midway, callPrint())
	require.NoError(t, err)
	asked := Asked{ToolName: "exec", Params: json.RawMessage(`{"argv":["git","push"]}`), ClaimID: "mine", Notes: notes}
	pins := []ed25519.PublicKey{s.Public()}
	require.NoError(t, Believe(jws, pins, asked, midway))
	for name, others := range map[string][]approval.Note{
		"none": nil, "other words": {{By: notes[0].By, Text: "skip the tests"}}, "another person's": {{By: "person:eve", Text: notes[0].Text}},
		"one more": append([]approval.Note{{By: "person:eve", Text: "x"}}, notes...),
	} {
		asked.Notes = others
		require.ErrorContains(t, Believe(jws, pins, asked, midway), "other notes", name)
	}
	plain := claimed()
	plain.ClaimID = "mine"
	without, err := ReceiptFor(plain, "https://desk.example")
	require.NoError(t, err)
	require.Empty(t, without.NotesHash)
	jws, err = s.Sign(without)
	require.NoError(t, err)
	asked.Notes = notes
	require.ErrorContains(t, Believe(jws, pins, asked, midway), "other notes")
}
