package core

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// update is for a field that is new: each line of bytes.golden may gain its member, and the hashes follow. A member that
// changes or goes breaks every store that there is. canonical.golden has no such flag, as a fingerprint never changes.
var update = flag.Bool("update", false, "write testdata/bytes.golden anew; its diff may only add members")

// sample sets every field that there is, at any depth, to what its path says; with
// some, only about half of them.
func sample(v reflect.Value, path string, some bool) {
	h := fnv.New64a()
	h.Write([]byte(path))
	n := h.Sum64() >> 8
	if some && n%2 == 0 && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.String:
		odd := []string{
			"plain", "with \"quotes\" and \\", "é\u2028<&>", "\x00\x01\n\t\b\f\r", "\xff broken", "\U0001F600\x7f",
		}
		v.SetString(odd[n%6] + fmt.Sprint(n%1000))
	case reflect.Int:
		v.SetInt(int64(n % 5)) // is also a risk class
	case reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint32:
		v.SetUint(n % 1000)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{1, 0.5, 0.1, 1e-9, 0}[n%5])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		sample(v.Elem(), path, some)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), int(n%4), int(n%4)))
		for i := range v.Len() {
			sample(v.Index(i), fmt.Sprint(path, i), some)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.Anonymous && v.Type() == reflect.TypeFor[approval.Approval](): // a part: its members are the whole's
				sample(v.Field(i), path, some)
			case f.Name != "Deliveries":
				sample(v.Field(i), path+"."+f.Name, some)
			}
		}
	default:
		panic("nothing samples " + v.Type().String())
	}
}

// bytesOf lists what is stored and what is logged of some approvals, and the hashes of
// the log's chain.
func bytesOf() (lines []string) {
	hash := ""
	for i := range 8 {
		var a approval.Approval
		var more approval.EventData
		if i > 0 {
			sample(reflect.ValueOf(&a).Elem(), fmt.Sprint("a", i), i%2 == 0)
			sample(reflect.ValueOf(&more).Elem(), fmt.Sprint("e", i), i%2 == 0)
		}
		e := a.Event(approval.EventVote, int64(i), more)
		e.Seq = int64(i + 1)
		hash = approval.ChainHash(hash, e)
		lines = append(lines, "body "+string(a.Body()), "event "+string(e.Data), "hash "+hash)
	}
	return lines
}

// The bytes of the log and of the store stay, since the log's hashes and the rows' MACs are of bytes.
func TestBytesStay(t *testing.T) {
	const golden = "testdata/bytes.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(strings.Join(bytesOf(), "\n")+"\n"), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, strings.Split(strings.TrimSuffix(string(want), "\n"), "\n"), bytesOf())
	for line := range strings.Lines(string(want)) {
		if text, is := strings.CutPrefix(line, "body "); is {
			var a, again approval.Approval
			require.NoError(t, json.Unmarshal([]byte(text), &a))
			require.NoError(t, json.Unmarshal(a.Body(), &again))
			require.Equal(t, a, again, "what was read is what was written")
		}
	}
}

// Canonical forms stay: each line of the vectors has a call's params, and its canonical
// form or what is wrong with it.
func TestAdversary_B2_CanonicalFormsStay(t *testing.T) {
	f, err := os.Open("testdata/canonical.golden")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		params, want, _ := strings.Cut(lines.Text(), "\t")
		params, err := strconv.Unquote(params)
		require.NoError(t, err)
		require.Equal(t, want, canonicalLine(params), "%q", params)
	}
	require.NoError(t, lines.Err())
	require.Greater(t, n, 250)
}

func canonicalLine(params string) string {
	s, err := approval.Canonical("a\"b\\é\n", json.RawMessage(params), &approval.Bind{Workdir: new("/w"), Host: new("<\x01\u2028>")})
	if err != nil {
		return "refused: " + err.Error()
	}
	return s.Fingerprint + " " + string(s.Bytes)
}
