package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// A log that begins later is good from there; only what the desk signed as a cut
// says that retention did it.
func TestVerifyEntries_OfACutLog(t *testing.T) {
	s, other := signer(t, 1, Checkpoints), signer(t, 2, Checkpoints)
	keys := []string{verifierKey(t, s)}
	all := aLog(t, 24, s)
	at := all[17]
	cut, err := s.CutEvent(Checkpoint{at.Seq, at.Hash, 9})
	require.NoError(t, err)
	forged, err := other.CutEvent(Checkpoint{at.Seq, at.Hash, 9})
	require.NoError(t, err)
	elsewhere, err := s.CutEvent(Checkpoint{20, all[19].Hash, 9})
	require.NoError(t, err)
	wrong, err := s.CutEvent(Checkpoint{at.Seq, all[3].Hash, 9})
	require.NoError(t, err)
	replayed, err := s.CheckpointEvent(Checkpoint{at.Seq, at.Hash, 9})
	require.NoError(t, err)
	replayed.Type = approval.EventCut
	disguised := cut
	disguised.Type = approval.EventCheckpoint
	for name, c := range map[string]struct {
		last approval.Event
		cut  bool
		bad  string
	}{
		"by retention":              {cut, true, ""},
		"by nobody":                 {approval.Event{Type: approval.EventVote}, false, ""},
		"somewhere else":            {elsewhere, false, ""},
		"by another key":            {forged, false, "not signed by a known key"},
		"another log":               {wrong, false, "written anew"},
		"a checkpoint for a cut":    {replayed, false, "cannot be trusted"},
		"a cut for a checkpoint":    {disguised, false, "cannot be trusted"},
		"nothing signed in the cut": {approval.Event{Type: approval.EventCut}, false, "should keep a checkpoint"},
	} {
		c.last.Seq = 25
		log := append(all[18:24:24], approval.Entry{Event: c.last, Hash: approval.ChainHash(all[23].Hash, c.last)})
		r, err := VerifyEntries(each(log), Options{Keys: keys, First: 19, PrevHash: at.Hash})
		require.Equal(t, c.cut, r.Cut, name)
		if c.bad != "" {
			require.ErrorContains(t, err, c.bad, name)
			require.EqualValues(t, 25, badSeq(t, err), name)
			continue
		}
		require.NoError(t, err, name)
		require.EqualValues(t, 19, r.From, name)
		require.EqualValues(t, 25, r.To, name)
	}
	_, err = VerifyEntries(each(all[18:]), Options{Keys: keys, First: 19, PrevHash: all[3].Hash})
	require.EqualValues(t, 19, badSeq(t, err))
	_, err = VerifyEntries(each(all[18:]), Options{Keys: keys, First: 19, PrevHash: at.Hash, Expect: checkpointOf(t, s, at)})
	require.NoError(t, err, "a checkpoint of the record before the first one still counts")
	_, err = VerifyEntries(each(all[18:]), Options{Keys: keys, First: 19, PrevHash: at.Hash, Expect: checkpointOf(t, s, all[4])})
	require.ErrorContains(t, err, "give a later checkpoint")
}
