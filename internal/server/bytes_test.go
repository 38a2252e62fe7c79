package server

import (
	"fmt"
	"hash/fnv"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/view"
)

// sample sets every field that there is, at any depth, to what its path says; with
// some, only about half of them.
func sample(v reflect.Value, path string, some bool) {
	h := fnv.New64a()
	h.Write([]byte(path))
	n := h.Sum64() >> 8
	whole := v.Kind() == reflect.Struct || v.Kind() == reflect.Slice || strings.Contains(path, ".Offers") // lists are never nil
	if some && n%2 == 0 && !whole {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if t := v.Type(); t == reflect.TypeFor[api.Decision]() || t == reflect.TypeFor[approval.Decision]() {
			v.SetString([]string{"allow-once", "allow-session", "allow-always", "deny"}[n/2%4])
			return
		}
		odd := []string{"plain", "with \"quotes\" and \\", "é\u2028<&>", "\x00\x01\n\t\b\f\r", "\xff broken", "\U0001F600\x7f"}
		v.SetString(odd[n%6] + fmt.Sprint(n%1000))
	case reflect.Int, reflect.Int64:
		if v.SetInt(int64(n)); v.Type().Implements(reflect.TypeFor[fmt.Stringer]()) { // a class, an outcome
			v.SetInt(int64(n % 4))
		}
	case reflect.Uint32:
		v.SetUint(uint64(n % 1000))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{1, 0.5, 0.1, 1e-9, 0, 1e300, -1, 256}[n%8])
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
			if name := v.Type().Field(i).Name; name != "Claim" {
				sample(v.Field(i), path+"."+name, some)
			}
		}
	default:
		panic("nothing samples " + v.Type().String())
	}
}

// answersOf lists answers with an approval, with an evaluation, and with a claim.
func answersOf() (lines []string) {
	for i := range 6 {
		a := api.Approval{DecidedBy: []string{}, SideEffects: []string{}, ReasonCodes: []string{}, Why: []string{}, Offers: []api.Decision{}}
		var p core.Preview
		if i > 0 {
			sample(reflect.ValueOf(&a).Elem(), fmt.Sprint("a", i), i%2 == 0)
			sample(reflect.ValueOf(&p).Elem(), fmt.Sprint("p", i), i%2 == 0)
		}
		lines = append(lines, answered(a), answered(view.EvaluationOf(p, fmt.Sprint("tööl\n", i), "<hash>", i%3 > 0)))
		a.Claim = &api.Claim{ToolName: "<t>", Params: []byte(`{"a":"<\u003c\u2028>","b":1e+30}`), Fingerprint: "f", Decision: api.AllowOnce}
		lines = append(lines, answered(a))
	}
	return lines
}

// answered is a body as it goes out.
func answered(body any) string {
	w := httptest.NewRecorder()
	(&Server{}).write(w, httptest.NewRequest("GET", "/", nil), 200, plainJSON, body)
	return w.Body.String()
}

// The bytes of answers stay.
func TestBytesStay(t *testing.T) {
	const golden = "testdata/answers.golden"
	if *update { // a member that is new may come in; one that changes or goes breaks clients
		require.NoError(t, os.WriteFile(golden, []byte(strings.Join(answersOf(), "")), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, strings.SplitAfter(strings.TrimSuffix(string(want), "\n"), "\n"), strings.SplitAfter(strings.TrimSuffix(strings.Join(answersOf(), ""), "\n"), "\n"))
}
