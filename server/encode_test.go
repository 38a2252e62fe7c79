package server

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// fill sets every field that there is, at any depth, or a random half of them.
func fill(v reflect.Value, all bool, r *rand.Rand) {
	if !all && r.IntN(2) == 0 && v.Kind() != reflect.Struct {
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // lists are never nil
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[api.Decision]() {
			v.SetString(string([]api.Decision{api.AllowOnce, api.AllowSession, api.AllowAlways, api.Deny}[r.IntN(4)]))
			return
		}
		odd := []string{"plain", "with \"quotes\" and \\", "é\u2028<&>", "\x01\n\t", "\xff broken", "\U0001F600"}
		v.SetString(odd[r.IntN(len(odd))] + fmt.Sprint(r.IntN(1000)))
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64() - 1<<62)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{1, 0.5, 0.1, 1e-9, 1e300, -1}[r.IntN(6)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), all, r)
	case reflect.Slice:
		n := 1 + r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), all || v.Index(i).Type() == reflect.TypeFor[api.Decision](), r) // no offer is none
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Claim" {
				fill(v.Field(i), all, r)
			}
		}
	default:
		panic("appendJSON has no way to write " + v.Type().String())
	}
}

// What is written without reflection is what reflection writes.
func TestAppendJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		for _, body := range []any{new(api.Evaluation), new(api.Approval)} {
			v := reflect.ValueOf(body).Elem()
			fill(v, i%2 == 0, r)
			got, quick := appendJSON([]byte("x"), v.Interface())
			require.True(t, quick)
			want, err := json.Marshal(v.Interface(), encoding)
			require.NoError(t, err)
			require.Equal(t, "x"+string(want), string(got))
		}
	}
	_, quick := appendJSON(nil, api.Approval{Claim: &api.Claim{}})
	require.False(t, quick)
}
