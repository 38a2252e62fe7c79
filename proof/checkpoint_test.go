package proof

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
)

var someHash = strings.Repeat("0123456789abcdef", 4)

func verifierKey(t testing.TB, s Signer) string {
	t.Helper()
	key, err := s.VerifierKey()
	require.NoError(t, err)
	return key
}

func TestCheckpoint(t *testing.T) {
	s := signer(t, 1, Checkpoints)
	key := verifierKey(t, s)
	c := Checkpoint{Seq: 4711, Hash: someHash, AtMs: 1_790_000_000_123}
	signed, err := s.SignCheckpoint(c)
	require.NoError(t, err)
	again, err := s.SignCheckpoint(c)
	require.NoError(t, err)
	require.Equal(t, signed, again)

	lines := strings.Split(signed, "\n")
	raw, err := hex.DecodeString(someHash)
	require.NoError(t, err)
	require.Equal(t, []string{"approvalbot log " + logID(s.Public()), "4711", base64.StdEncoding.EncodeToString(raw), "2026-09-21T14:13:20.123Z", ""}, lines[:5])
	require.True(t, strings.HasPrefix(lines[5], "— approvalbot-"+logID(s.Public())+" "))

	got, err := OpenCheckpoint(signed, verifierKey(t, signer(t, 2, Checkpoints)), key, key, " "+key+"\n")
	require.NoError(t, err)
	require.Equal(t, c, got)
	got, err = ReadCheckpoint(signed)
	require.NoError(t, err)
	require.Equal(t, c, got)

	for _, copied := range []string{signed + "\n", strings.TrimSpace(signed), signed + "\r\n\r\n"} {
		got, err = OpenCheckpoint(copied, key)
		require.NoError(t, err)
		require.Equal(t, c, got)
	}

	v, err := note.NewVerifier(key)
	require.NoError(t, err)
	n, err := note.Open([]byte(signed), note.VerifierList(v))
	require.NoError(t, err, "any reader of notes can check it")
	require.Len(t, n.Sigs, 1)
}

func TestCheckpointRefuses(t *testing.T) {
	s := signer(t, 1, Checkpoints)
	key := verifierKey(t, s)
	good, err := s.SignCheckpoint(Checkpoint{7, someHash, 1_790_000_000_000})
	require.NoError(t, err)
	v, err := note.NewVerifier(key)
	require.NoError(t, err)
	sign := func(text string) string {
		b, err := note.Sign(&note.Note{Text: text}, noteSigner{v, s})
		require.NoError(t, err)
		return string(b)
	}
	text, _, _ := strings.Cut(good, "\n\n")
	text += "\n"
	with := func(old, new string) string {
		require.Contains(t, text, old)
		return sign(strings.Replace(text, old, new, 1))
	}
	require.Equal(t, good, sign(text))
	for name, c := range map[string]struct{ note, want string }{
		"nothing":           {"", "not a signed checkpoint"},
		"no signature":      {text, "not a signed checkpoint"},
		"other number":      {strings.Replace(good, "\n7\n", "\n8\n", 1), "does not fit"},
		"another's":         {func() string { n, _ := signer(t, 2, Checkpoints).SignCheckpoint(Checkpoint{7, someHash, 1}); return n }(), "not signed by a known key"},
		"of another log":    {with(logID(s.Public()), logID(signer(t, 2, Checkpoints).Public())), "another log"},
		"other origin":      {with("approvalbot log", "go.sum database tree"), "not a checkpoint"},
		"a line more":       {sign(text + "more\n"), "not a checkpoint"},
		"a line less":       {with("7\n", ""), "not a checkpoint"},
		"leading zero":      {with("\n7\n", "\n07\n"), "not a checkpoint"},
		"record 0":          {with("\n7\n", "\n0\n"), "not a checkpoint"},
		"negative":          {with("\n7\n", "\n-7\n"), "not a checkpoint"},
		"other time format": {with(".000Z", "Z"), "not a checkpoint"},
		"short hash":        {with("ASNFZ4mrze8", ""), "not a checkpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenCheckpoint(c.note, key)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err = OpenCheckpoint(good)
	require.ErrorContains(t, err, "not signed by a known key")
	_, err = OpenCheckpoint(good, "approvalbot+x")
	require.ErrorContains(t, err, "verifier key 1 is not valid")
	_, err = ReadCheckpoint(text)
	require.ErrorContains(t, err, "not a signed checkpoint")
	_, err = ReadCheckpoint(sign("hello\n"))
	require.ErrorContains(t, err, "not a checkpoint")

	for name, c := range map[string]Checkpoint{"empty log": {}, "no hash": {Seq: 1}, "upper case": {1, strings.ToUpper(someHash), 1}, "year 10000": {1, someHash, 253402300800000}} {
		_, err := s.SignCheckpoint(c)
		require.Error(t, err, name)
	}
}

func FuzzOpenCheckpoint(f *testing.F) {
	s := signer(f, 1, Checkpoints)
	key := verifierKey(f, s)
	good, err := s.SignCheckpoint(Checkpoint{7, someHash, 1_790_000_000_000})
	require.NoError(f, err)
	f.Add(good)
	f.Add(good + good)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := OpenCheckpoint(text, key)
		if err == nil {
			require.Equal(t, Checkpoint{7, someHash, 1_790_000_000_000}, c)
		}
		_, _ = ReadCheckpoint(text)
	})
}

func TestDue(t *testing.T) {
	const t0, hour = 1_790_000_000_000, CheckpointEveryMs
	for name, c := range map[string]struct {
		seq, at, head, now int64
		want               bool
	}{
		"an empty log never":                      {0, 0, 0, t0, false},
		"the first records of a desk":             {0, 0, 1, t0, true},
		"only the checkpoint's own record":        {10, t0, 11, t0 + 100*hour, false},
		"news, but no hour yet":                   {10, t0, 12, t0 + hour - 1, false},
		"news and an hour":                        {10, t0, 12, t0 + hour, true},
		"999 records at once":                     {10, t0, 10 + 1 + 999, t0, false},
		"1,000 records at once":                   {10, t0, 10 + 1 + 1000, t0, true},
		"a clock that was set back waits":         {10, t0, 12, t0 - hour, false},
		"but not with 1,000 records":              {10, t0, 2000, t0 - hour, true},
		"a head behind the checkpoint is no news": {10, t0, 10, t0 + hour, false},
	} {
		require.Equal(t, c.want, Due(c.seq, c.at, c.head, c.now), name)
	}
}
