package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
)

// chained numbers and chains events as a store does.
func chained(events ...approval.Event) []approval.Entry {
	var all []approval.Entry
	prev := ""
	for i, e := range events {
		e.Seq = int64(i + 1)
		all = append(all, approval.Entry{Event: e, Hash: approval.ChainHash(prev, e), PrevHash: prev})
		prev = all[i].Hash
	}
	return all
}

// aLog is a log of n records in which every tenth keeps a checkpoint of the one
// two before it.
func aLog(t testing.TB, n int, s Signer) []approval.Entry {
	t.Helper()
	var events []approval.Event
	for i := 1; i <= n; i++ {
		e := approval.Event{AtMs: int64(i) * 1000, Type: approval.EventVote, Key: fmt.Sprint("k", i%3), Owner: "o\"<ü>", Data: json.RawMessage(fmt.Sprintf(`{"id":"<%d>","n":%d.50}`, i, i))}
		if i%10 == 0 {
			at := chained(events...)[i-3]
			var err error
			e, err = s.CheckpointEvent(Checkpoint{at.Seq, at.Hash, int64(i) * 1000})
			require.NoError(t, err)
		}
		events = append(events, e)
	}
	return chained(events...)
}

func each(all []approval.Entry) iter.Seq2[approval.Entry, error] {
	return func(yield func(approval.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func export(t testing.TB, all []approval.Entry, from, to int, keys ...string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteExport(&b, Header{From: int64(from), To: int64(to), ExportedAtMs: 5, Keys: keys}, each(all[from-1:to])))
	return b.String()
}

func checkpointOf(t testing.TB, s Signer, e approval.Entry) string {
	t.Helper()
	text, err := s.SignCheckpoint(Checkpoint{e.Seq, e.Hash, e.AtMs})
	require.NoError(t, err)
	return text
}

// badSeq requires that the error names a record, and gives it.
func badSeq(t require.TestingT, err error) int64 {
	var bad *approval.BadRecord
	require.ErrorAs(t, err, &bad)
	return bad.Seq
}

func TestExport(t *testing.T) {
	s := signer(t, 1, Checkpoints)
	key := verifierKey(t, s)
	all := aLog(t, 25, s)
	text := export(t, all, 1, 25, key)
	require.Equal(t, 26, strings.Count(text, "\n"))
	first, rest, _ := strings.Cut(text, "\n")
	require.Equal(t, `{"format":"approvalbot-audit-export/1","from":1,"to":25,"prevHash":"","exportedAtMs":5,"keys":["`+key+`"]}`, first)
	second, _, _ := strings.Cut(rest, "\n")
	require.Equal(t, `{"seq":1,"atMs":1000,"type":"tool.approval.vote","key":"k1","owner":"o\"\u003cü\u003e","data":{"id":"<1>","n":1.50},"hash":"`+all[0].Hash+`"}`, second)

	want := Report{From: 1, To: 25, Head: all[24].Hash, Checkpoints: 2, Covered: 18}
	got, err := VerifyExport(strings.NewReader(text), Options{Keys: []string{key}})
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = VerifyEntries(each(all), Options{Keys: []string{key}})
	require.NoError(t, err)
	require.Equal(t, want, got)

	want.OwnKeys, want.Expected = true, true
	got, err = VerifyExport(strings.NewReader(text), Options{Expect: checkpointOf(t, s, all[20])})
	require.NoError(t, err)
	require.Equal(t, want, got)

	// From the middle: the checkpoint at 10 is of record 8, before the stretch.
	got, err = VerifyExport(strings.NewReader(export(t, all, 10, 22, key)), Options{Keys: []string{key}})
	require.NoError(t, err)
	require.Equal(t, Report{From: 10, To: 22, Head: all[21].Hash, Checkpoints: 1, Covered: 18}, got)
	got, err = VerifyExport(strings.NewReader(export(t, all, 9, 22, key)), Options{Keys: []string{key}})
	require.NoError(t, err)
	require.Equal(t, 2, got.Checkpoints, "the record before the stretch can be compared too")

	got, err = VerifyExport(strings.NewReader(export(t, all, 1, 0)), Options{})
	require.NoError(t, err)
	require.Equal(t, Report{From: 1, OwnKeys: true}, got)
	got, err = VerifyEntries(each(nil), Options{})
	require.NoError(t, err)
	require.Equal(t, Report{From: 1}, got)
}

func TestWriteExportRefuses(t *testing.T) {
	all := aLog(t, 3, Signer{})
	write := func(h Header, entries iter.Seq2[approval.Entry, error]) error {
		return WriteExport(&bytes.Buffer{}, h, entries)
	}
	require.ErrorContains(t, write(Header{From: 0, To: 3}, each(all)), "the first must be 1 or more")
	require.ErrorContains(t, write(Header{From: 3, To: 1}, each(all)), "the first must be 1 or more")
	require.ErrorContains(t, write(Header{From: 1, To: 2}, each(all)), "record 3 is outside")
	broken := errors.New("the disk is gone")
	require.ErrorIs(t, write(Header{From: 1, To: 3}, func(yield func(approval.Entry, error) bool) { yield(approval.Entry{}, broken) }), broken)
	for name, data := range map[string]string{"no JSON": `x`, "empty": ``, "two lines": "{\n}", "more members": `1,"hash":""`, "too long": `"` + strings.Repeat("x", maxLine) + `"`} {
		bad := slices.Clone(all)
		bad[1].Data = json.RawMessage(data)
		require.ErrorContains(t, write(Header{From: 1, To: 3}, each(bad)), "record 2 cannot be exported", name)
	}
	bad := slices.Clone(all)
	bad[1].Key = "\xff"
	require.ErrorContains(t, write(Header{From: 1, To: 3}, each(bad)), "record 2 cannot be exported")
}

// What is wrong with the log itself is exported as it is, and then found.
func TestExportOfABrokenLog(t *testing.T) {
	all := aLog(t, 6, Signer{})
	var b bytes.Buffer
	require.NoError(t, WriteExport(&b, Header{From: 1, To: 6}, each(slices.Delete(slices.Clone(all), 2, 3))))
	_, err := VerifyExport(&b, Options{})
	require.EqualError(t, err, "log record 3 is missing: record 4 is in its place")

	b.Reset()
	all[3].PrevHash = "" // as the store reads it where record 3 is gone
	require.NoError(t, WriteExport(&b, Header{From: 4, To: 6}, each(all[3:])))
	_, err = VerifyExport(&b, Options{})
	require.EqualError(t, err, "log record 3 was missing from the log when it was exported")
}

func TestHeaderRefuses(t *testing.T) {
	all := aLog(t, 6, Signer{})
	text, later := export(t, all, 1, 6), export(t, all, 3, 6)
	for name, c := range map[string]struct{ text, old, new, want string }{
		"nothing":          {"", "", "", "not an audit export"},
		"no header":        {text[strings.Index(text, "\n")+1:], "", "", "not an audit export"},
		"other format":     {text, "export/1", "export/2", "not an audit export"},
		"unknown member":   {text, `"from"`, `"x":1,"from"`, "header was changed: a member is there twice"},
		"from in the past": {later, `"from":3`, `"from":2`, "log record 2 is missing"},
		"from too late":    {later, `"from":3`, `"from":4`, "log record 4 is not in its place"},
		"from zero":        {text, `"from":1`, `"from":0`, "range must begin at 1 or more"},
		"before the first": {text, `"prevHash":""`, `"prevHash":"ab"`, "no record comes before record 1"},
		"other prevHash":   {later, all[1].Hash, someHash, "log record 3 was changed"},
		"to too small":     {text, `"to":6`, `"to":5`, "log record 6 is not the next one, or should not be there"},
		"to too large":     {text, `"to":6`, `"to":7`, "log record 7 is missing: the export ends"},
		"range reversed":   {text, `"to":6`, `"to":-6`, "range must begin at 1 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, c.text, c.old)
			_, err := VerifyExport(strings.NewReader(strings.Replace(c.text, c.old, c.new, 1)), Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := VerifyExport(strings.NewReader(text[:strings.Index(text, "\n")+1]+strings.Repeat("x", maxLine+1)), Options{})
	require.EqualError(t, err, "log record 1 was changed: its line is too long")
}

// rechained is what somebody with the database but without the key can do: any
// change, and all hashes after it computed anew.
func rechained(all []approval.Entry) []approval.Entry {
	events := make([]approval.Event, len(all))
	for i, e := range all {
		events[i] = e.Event
	}
	return chained(events...)
}

func TestALogWrittenAnewIsFoundByCheckpoints(t *testing.T) {
	s := signer(t, 1, Checkpoints)
	opts := Options{Keys: []string{verifierKey(t, s)}}
	all := aLog(t, 25, s)
	forged := slices.Clone(all)
	forged[4].Data = json.RawMessage(`{"id":"nothing happened"}`)
	forged = rechained(forged)

	_, err := VerifyEntries(each(forged), opts)
	require.EqualError(t, err, "log record 10 keeps a checkpoint of record 8 with another hash than that record has: the log was written anew")

	noCheckpoints := rechained(slices.DeleteFunc(slices.Clone(forged), func(e approval.Entry) bool { return e.Type == approval.EventCheckpoint }))
	got, err := VerifyEntries(each(noCheckpoints), opts)
	require.NoError(t, err, "the chain alone does not find it")
	require.Zero(t, got.Checkpoints)
	opts.Expect = checkpointOf(t, s, all[7])
	_, err = VerifyEntries(each(noCheckpoints), opts)
	require.ErrorContains(t, err, "log record 8 does not fit the checkpoint of 1970-01-01T00:00:08Z")
}

func TestBadCheckpointsInALog(t *testing.T) {
	s, other := signer(t, 1, Checkpoints), signer(t, 2, Checkpoints)
	keeps := func(by Signer, c Checkpoint) json.RawMessage {
		e, err := by.CheckpointEvent(c)
		require.NoError(t, err)
		return e.Data
	}
	all := aLog(t, 9, s)
	for name, c := range map[string]struct {
		data json.RawMessage
		want string
	}{
		"another's":     {keeps(other, Checkpoint{9, all[8].Hash, 1}), "not signed by a known key"},
		"of itself":     {keeps(s, Checkpoint{10, someHash, 1}), "not before it"},
		"of the future": {keeps(s, Checkpoint{99, someHash, 1}), "not before it"},
		"other hash":    {keeps(s, Checkpoint{9, someHash, 1}), "written anew"},
		"no text":       {json.RawMessage(`{"checkpoint":7}`), "should keep a checkpoint"},
		"none":          {json.RawMessage(`{}`), "not a signed checkpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			log := rechained(append(slices.Clone(all), approval.Entry{Event: approval.Event{AtMs: 9, Type: approval.EventCheckpoint, Data: c.data}}))
			_, err := VerifyEntries(each(log), Options{Keys: []string{verifierKey(t, s)}})
			require.ErrorContains(t, err, c.want)
			require.EqualValues(t, 10, badSeq(t, err))
		})
	}
	log := aLog(t, 10, s)
	_, err := VerifyEntries(each(log), Options{})
	require.ErrorContains(t, err, "not signed by a known key", "without keys a checkpoint is not trusted")
	_, err = VerifyEntries(each(log), Options{Keys: []string{"x"}})
	require.ErrorContains(t, err, "verifier key 1 is not valid")
}

func TestExpect(t *testing.T) {
	s := signer(t, 1, Checkpoints)
	all := aLog(t, 9, Signer{})
	text := export(t, all, 4, 8, verifierKey(t, s))
	verify := func(kept string) error {
		_, err := VerifyExport(strings.NewReader(text), Options{Expect: kept})
		return err
	}
	for i := 2; i < 8; i++ {
		require.NoError(t, verify(checkpointOf(t, s, all[i])), i)
		other := all[i]
		other.Hash = someHash
		require.EqualValues(t, i+1, badSeq(t, verify(checkpointOf(t, s, other))))
	}
	require.ErrorContains(t, verify(checkpointOf(t, s, all[1])), "export from there")
	require.ErrorContains(t, verify(checkpointOf(t, s, all[8])), "log record 9 is missing: the log ends before it, but the expected checkpoint is for record 9")
	_, err := VerifyEntries(each(all[:7]), Options{Keys: []string{verifierKey(t, s)}, Expect: checkpointOf(t, s, all[8])})
	require.EqualValues(t, 8, badSeq(t, err), "the first one of the tail that was cut")
}

// A checkpoint proves something only if a known key signed what it says now.
func TestExpectedCheckpointMustBeSigned(t *testing.T) {
	s := signer(t, 1, Checkpoints)
	all := aLog(t, 9, Signer{})
	good, later := checkpointOf(t, s, all[4]), checkpointOf(t, s, all[6])
	lines := strings.Split(good, "\n")
	copy(lines[1:4], strings.Split(later, "\n")[1:4])
	for kept, want := range map[string]string{
		strings.Join(lines, "\n"):                               "the checkpoint's signature does not fit",
		checkpointOf(t, signer(t, 2, Checkpoints), all[4]):      "not signed by a known key",
		strings.ReplaceAll(good, "approvalbot log", "some log"): "cannot be trusted",
		"hello": "not a signed checkpoint",
	} {
		_, err := VerifyExport(strings.NewReader(export(t, all, 1, 9, verifierKey(t, s))), Options{Expect: kept})
		require.ErrorContains(t, err, "the expected checkpoint cannot be trusted: ")
		require.ErrorContains(t, err, want)
	}
	_, err := VerifyExport(strings.NewReader(export(t, all, 1, 9)), Options{Expect: good})
	require.ErrorContains(t, err, "not signed by a known key", "an export that names no key")
}

func TestErrorsOfTheLogAreNoBadRecords(t *testing.T) {
	broken := errors.New("the disk is gone")
	all := aLog(t, 3, Signer{})
	report, err := VerifyEntries(func(yield func(approval.Entry, error) bool) {
		_ = yield(all[0], nil) && yield(all[1], nil) && yield(approval.Entry{}, broken)
	}, Options{})
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 2, report.To)
}

// Any single change to the records of an export is found, and the record that is
// named is the first one that differs.
func TestAnyChangeIsFoundAndNamed(t *testing.T) {
	s := signer(t, 1, Checkpoints)
	opts := Options{Keys: []string{verifierKey(t, s)}}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 24).Draw(r, "records")
		from := rapid.IntRange(1, n-1).Draw(r, "from")
		text := export(t, aLog(t, n, s), from, n, opts.Keys...)
		_, err := VerifyExport(strings.NewReader(text), opts)
		require.NoError(r, err)

		lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
		lines[len(lines)-1] += "\n"
		i := rapid.IntRange(1, len(lines)-1).Draw(r, "line") // 0 is the header
		named := int64(from + i - 1)
		line := lines[i]
		at := rapid.IntRange(0, len(line)-1).Draw(r, "byte")
		switch rapid.SampledFrom([]string{"change", "take out a byte", "put in a byte", "cut", "take out", "double", "swap", "put in"}).Draw(r, "attack") {
		case "change":
			to := rapid.Byte().Filter(func(b byte) bool { return b != line[at] }).Draw(r, "to")
			lines[i] = line[:at] + string([]byte{to}) + line[at+1:]
		case "take out a byte":
			lines[i] = line[:at] + line[at+1:]
		case "put in a byte":
			another := func(b byte) bool { return b != '\n' || at < len(line)-1 } // which would be a line of its own behind this one
			lines[i] = line[:at] + string([]byte{rapid.Byte().Filter(another).Draw(r, "put")}) + line[at:]
		case "cut":
			lines = append(lines[:i:i], line[:at])
		case "take out":
			lines = slices.Delete(lines, i, i+1)
		case "double":
			lines = slices.Insert(lines, rapid.IntRange(i+1, len(lines)).Draw(r, "at"), line)
		case "swap":
			j := rapid.IntRange(1, len(lines)-1).Filter(func(j int) bool { return j != i }).Draw(r, "with")
			lines[i], lines[j], named = lines[j], lines[i], int64(from+min(i, j)-1)
		case "put in":
			before := prevHash(r, lines, i)
			e, err := parseLine([]byte(strings.TrimSuffix(line, "\n")))
			require.NoError(r, err)
			e.Data = json.RawMessage(`{"forged":true}`)
			e.Hash = approval.ChainHash(rapid.SampledFrom([]string{"", e.Hash, before}).Draw(r, "after"), e.Event)
			b, err := appendEntry(nil, e)
			require.NoError(r, err)
			lines = slices.Insert(lines, i, string(b)+"\n")
		}
		changed := strings.Join(lines, "")
		if changed == text {
			r.Skip("a byte was put in where the same one stood, or taken out of two")
		}
		_, err = VerifyExport(strings.NewReader(changed), opts)
		require.EqualValues(r, named, badSeq(r, err), "%v", err)
	})
}

// prevHash is the hash that the record of that line is chained to.
func prevHash(t require.TestingT, lines []string, i int) string {
	var before struct{ Hash, PrevHash string } // of the header or of a record
	require.NoError(t, json.Unmarshal([]byte(lines[i-1]), &before))
	return before.Hash + before.PrevHash
}

// A line has one spelling: also what JSON reads the same is found.
func TestEveryByteOfALineCounts(t *testing.T) {
	text := export(t, aLog(t, 2, Signer{}), 1, 2)
	head, records, _ := strings.Cut(text, "\n")
	for i := range records {
		for _, mask := range []byte{0x20, 0x01, 0x80} {
			b := []byte(records)
			b[i] ^= mask
			_, err := VerifyExport(strings.NewReader(head+"\n"+string(b)), Options{})
			require.EqualValues(t, 1+strings.Count(records[:i], "\n"), badSeq(t, err), "%s", b)
		}
	}
	for old, new := range map[string]string{
		`{"seq"`: `{"x":1,"seq"`, `{"seq":`: `{"seq":7,"seq":`, `"key":`: `"key": `, `"owner":"o`: `"owner":"\u006f`, `"n":1`: `"n": 1`, "}\n": "} \n", "\n": "\r\n",
	} {
		require.Contains(t, records, old)
		_, err := VerifyExport(strings.NewReader(head+"\n"+strings.Replace(records, old, new, 1)), Options{})
		require.EqualValues(t, 1, badSeq(t, err), new)
	}
}

func TestAReadErrorIsNoBadRecord(t *testing.T) {
	text := export(t, aLog(t, 2, Signer{}), 1, 2)
	broken := errors.New("the disk is gone")
	for _, n := range []int{0, len(text) - 3} {
		_, err := VerifyExport(io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(broken)), Options{})
		require.ErrorIs(t, err, broken)
	}
}

// A tail that was cut, with the header made to fit, is found against any
// checkpoint of a record in it; so is any record written anew with all hashes
// after it.
func TestExpectFindsACutTailAndAnyRewriting(t *testing.T) {
	s := signer(t, 1, Checkpoints)
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(r, "records")
		all := aLog(t, n, Signer{})
		kept := rapid.IntRange(1, n).Draw(r, "checkpoint")
		left := rapid.IntRange(0, kept-1).Draw(r, "left")
		opts := Options{Keys: []string{verifierKey(t, s)}, Expect: checkpointOf(t, s, all[kept-1])}
		_, err := VerifyExport(strings.NewReader(export(t, all, 1, left)), opts)
		require.EqualValues(r, left+1, badSeq(r, err))

		forged := slices.Clone(all)
		forged[rapid.IntRange(0, kept-1).Draw(r, "forged")].AtMs++
		_, err = VerifyExport(strings.NewReader(export(t, rechained(forged), 1, n)), opts)
		require.EqualValues(r, kept, badSeq(r, err))
	})
}

func FuzzVerifyExport(f *testing.F) {
	s := signer(f, 1, Checkpoints)
	opts := Options{Keys: []string{verifierKey(f, s)}}
	all := aLog(f, 12, s)
	opts.Expect = checkpointOf(f, s, all[11])
	text := export(f, all, 1, 12, opts.Keys...)
	_, records, _ := strings.Cut(text, "\n")
	f.Add([]byte(text))
	f.Add([]byte(export(f, all, 5, 12)))
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		report, err := VerifyExport(bytes.NewReader(b), opts)
		if err == nil && report.From == 1 && report.To == 12 {
			_, rest, _ := strings.Cut(string(b), "\n")
			require.Equal(t, records, rest)
		}
	})
}

func BenchmarkVerifyExport(b *testing.B) {
	s := signer(b, 1, Checkpoints)
	text := export(b, aLog(b, 500, s), 1, 500, verifierKey(b, s))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := VerifyExport(strings.NewReader(text), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
