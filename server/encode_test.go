package server

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
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
		if decision(v.Type()) {
			v.SetString(string([]api.Decision{api.AllowOnce, api.AllowSession, api.AllowAlways, api.Deny}[r.IntN(4)]))
			return
		}
		odd := []string{"plain", "with \"quotes\" and \\", "é\u2028<&>", "\x01\n\t", "\xff broken", "\U0001F600"}
		v.SetString(odd[r.IntN(len(odd))] + fmt.Sprint(r.IntN(1000)))
	case reflect.Int, reflect.Int64:
		switch v.Type() {
		case reflect.TypeFor[core.RiskClass]():
			v.SetInt(r.Int64N(int64(core.R4) + 1))
		case reflect.TypeFor[core.Outcome]():
			v.SetInt(r.Int64N(int64(core.OutcomeDeny) + 1))
		default:
			v.SetInt(r.Int64() - 1<<62)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{1, 0.5, 0.1, 1e-9, 1e300, -1, 0, 256, 127}[r.IntN(9)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), all, r)
	case reflect.Slice:
		n := 1 + r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), all || decision(v.Index(i).Type()), r) // no offer is none
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

func decision(t reflect.Type) bool {
	return t == reflect.TypeFor[api.Decision]() || t == reflect.TypeFor[core.Decision]()
}

// evaluationOf is what policy says of a call, as the API shows it.
func evaluationOf(p core.Preview, tool, hash string, traced bool) api.Evaluation {
	out := api.Evaluation{
		Outcome: p.Outcome.String(), Reason: p.Reason, By: p.By, Approvers: approversOf(p.Rule), Offers: decisionsOf(p.Offers), Why: words(p.Why), PolicyHash: hash,
		Assessment: api.Assessment{ToolName: tool, RiskClass: p.Assessment.RiskClass.String(), SideEffects: words(p.Assessment.SideEffects),
			Confidence: p.Assessment.Confidence, Source: p.Assessment.Source, ReasonCodes: words(p.Assessment.ReasonCodes)},
	}
	if traced {
		for _, t := range p.Trace {
			out.Trace = append(out.Trace, api.Step{Stage: t.Stage, Rule: t.Rule, Outcome: t.Outcome, Text: t.Text})
		}
	}
	return out
}

// The same of what evaluate answers.
func TestAppendEvaluation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 2000 {
		var p core.Preview
		fill(reflect.ValueOf(&p).Elem(), i%2 == 0, r)
		tool, hash, traced := fmt.Sprint("tööl\n", i), fmt.Sprint(i), i%3 > 0
		all := evaluationOf(p, tool, hash, traced)
		want, err := json.Marshal(all, encoding)
		require.NoError(t, err)
		require.Equal(t, "x"+string(want), string(appendEvaluation([]byte("x"), &p, tool, hash, traced)))
		if i == 4 { // everything was there
			every := reflect.ValueOf(all)
			for k := range every.NumField() {
				require.False(t, every.Field(k).IsZero(), every.Type().Field(k).Name)
			}
		}
	}
}

// What is written without reflection is what reflection writes.
func TestAppendJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		var a api.Approval
		fill(reflect.ValueOf(&a).Elem(), i%2 == 0, r)
		got, quick := appendJSON([]byte("x"), a)
		require.True(t, quick)
		want, err := json.Marshal(a, encoding)
		require.NoError(t, err)
		require.Equal(t, "x"+string(want), string(got))
	}
	_, quick := appendJSON(nil, api.Approval{Claim: &api.Claim{}})
	require.False(t, quick)
}
