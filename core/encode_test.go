package core

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// fill sets every field that there is, at any depth, or a random half of them.
func fill(v reflect.Value, all bool, r *rand.Rand) {
	if !all && r.IntN(2) == 0 && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.String:
		odd := []string{"plain", "with \"quotes\" and \\", "é\u2028<&>", "\x00\x01\n\t", "\xff broken", "\U0001F600"}
		v.SetString(odd[r.IntN(len(odd))] + fmt.Sprint(r.IntN(1000)))
	case reflect.Int:
		v.SetInt(int64(r.IntN(5))) // is also a risk class
	case reflect.Int64:
		v.SetInt(r.Int64() - 1<<62)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{1, 0.5, 0.1, 1e-9, 0}[r.IntN(5)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), all, r)
	case reflect.Slice:
		n := r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), all, r)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Deliveries" {
				fill(v.Field(i), all, r)
			}
		}
	default:
		panic("nothing writes " + v.Type().String())
	}
}

// factsOf is what an event says of an approval.
type factsOf struct {
	ID          string      `json:"id"`
	Code        string      `json:"code"`
	Status      Status      `json:"status"`
	Decision    Decision    `json:"decision,omitempty"`
	DecidedBy   []string    `json:"decidedBy,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	ToolName    string      `json:"toolName"`
	Fingerprint string      `json:"argsFingerprint"`
	AgentID     string      `json:"agentId,omitempty"`
	SessionKey  string      `json:"sessionKey,omitempty"`
	Channel     string      `json:"channel,omitempty"`
	Requester   *Requester  `json:"requester,omitempty"`
	Askers      []Requester `json:"askers,omitempty"`
	Joined      []Requester `json:"joined,omitempty"`
	Assessment  Assessment  `json:"assessment"`
	PolicyHash  string      `json:"policyHash"`
	Rule        Rule        `json:"approvers"`
	Votes       []Vote      `json:"votes,omitempty"`

	Consulted []Consultation `json:"consulted,omitempty"`

	Result      *Result `json:"result,omitempty"`
	Dialect     string  `json:"dialect,omitempty"`
	CreatedAtMs int64   `json:"createdAtMs"`
	ExpiresAtMs int64   `json:"expiresAtMs"`
	RevokedAtMs int64   `json:"revokedAtMs,omitempty"`
	RevokedBy   string  `json:"revokedBy,omitempty"`
	RevokeWhy   string  `json:"revokeReason,omitempty"`
	Vote        *Vote   `json:"vote,omitempty"`
	Solo        bool    `json:"soloSelfApproval,omitempty"`
	By          string  `json:"by,omitempty"`
	Why         string  `json:"why,omitempty"`
	Until       int64   `json:"claimUntilMs,omitempty"`
}

// What is written without reflection says what reflection would.
func TestEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		var a Approval
		var e eventData
		fill(reflect.ValueOf(&a).Elem(), i%2 == 0, r)
		fill(reflect.ValueOf(&e).Elem(), i%2 == 0, r)

		want, err := json.Marshal(a)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(a.AppendBody(nil)))

		channel := ""
		if a.Origin != nil {
			channel = a.Origin.Channel
		}
		want, err = json.Marshal(factsOf{
			a.ID, a.Code, a.Status, a.Decision, a.DecidedBy, a.Reason, a.ToolName, a.Fingerprint, a.AgentID, a.SessionKey,
			channel, a.Requester, a.Askers, e.Joined, a.Assessment, a.PolicyHash, a.Rule, a.Votes, a.Consulted, a.Result, a.Dialect, a.CreatedAtMs, a.ExpiresAtMs, a.RevokedAtMs, a.RevokedBy, a.RevokeReason,
			e.Vote, e.Solo, e.By, e.Why, e.Until,
		})
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(a.event(EventVote, 0, e).Data))
	}
}
