package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// readCall is a call and the approval that was given for it at 1000: it may be claimed
// until the claim window is over.
func readCall(t testing.TB) (approval.Approval, approval.Call) {
	t.Helper()
	call := approval.Call{ToolName: "read", Params: []byte(`{"path":"a"}`), Bind: &approval.Bind{Host: new("h")}}
	sealed, err := approval.Canonical(call.ToolName, call.Params, call.Bind)
	require.NoError(t, err)
	return approval.Approval{
		Names: approval.Names{Key: "k", ID: "k", Code: "K7QX2M", Owner: "agent"},
		Asked: approval.Asked{ToolName: "read", Fingerprint: sealed.Fingerprint},
		Ended: approval.Ended{Status: approval.Approved, Decision: approval.AllowOnce, DecidedBy: []string{"person:alice"}, ResolvedAtMs: 1000, ClaimUntilMs: 1000 + approval.ClaimWindowMs},
	}, call
}

// whyOf is a refusal as its code, with the reason why a claim is refused.
func whyOf(err error) string {
	e, ok := err.(*approval.Error)
	switch {
	case !ok:
		return ""
	case e.Why != "":
		return string(e.Code) + " " + e.Why
	}
	return string(e.Code)
}

func eventTypes(c Change) (out []approval.EventType) {
	for _, e := range c.Events {
		out = append(out, e.Type)
	}
	return out
}

func TestClaim(t *testing.T) {
	const inTime, late = 2000, 1000 + approval.ClaimWindowMs
	failed := &approval.Result{Status: "failed"}
	for name, c := range map[string]struct {
		a      func(*approval.Approval)
		in     ClaimInput
		denies string
		now    int64
		want   string
	}{
		"an approved call is handed out": {},
		"a pending one is not": {
			a: func(a *approval.Approval) { a.Status = approval.Pending }, want: "not_claimable pending",
		},
		"nor a denied one": {
			a: func(a *approval.Approval) { a.Status = approval.Denied }, want: "not_claimable denied",
		},
		"nor an expired one": {
			a: func(a *approval.Approval) { a.Status = approval.Expired }, want: "not_claimable denied",
		},
		"nor a revoked one": {
			a: func(a *approval.Approval) { a.RevokedAtMs = 1 }, want: "not_claimable revoked",
		},
		"nor a drill": {
			a: func(a *approval.Approval) { a.ToolName = approval.DrillTool }, want: "not_claimable policy",
		},
		"nor one after its time":      {now: late, want: "not_claimable late"},
		"until the last moment it is": {now: late - 1},
		"no call is handed out twice": {
			a: func(a *approval.Approval) { a.ClaimedAtMs = 1 }, want: "already_used",
		},
		"but to the same claim, whose answer was lost": {
			a: func(a *approval.Approval) { a.ClaimedAtMs, a.ClaimID = 1, "c" }, in: ClaimInput{ClaimID: "c"},
		},
		"also after its time": {
			a: func(a *approval.Approval) { a.ClaimedAtMs, a.ClaimID = 1, "c" }, in: ClaimInput{ClaimID: "c"}, now: late,
		},
		"not to another claim": {
			a: func(a *approval.Approval) { a.ClaimedAtMs, a.ClaimID = 1, "c" }, in: ClaimInput{ClaimID: "d"},
			want: "already_used",
		},
		"and not once a result was reported": {
			a:  func(a *approval.Approval) { a.ClaimedAtMs, a.ClaimID, a.Result = 1, "c", failed },
			in: ClaimInput{ClaimID: "c"}, want: "already_used",
		},
		"who claims the very call may say so": {
			in: ClaimInput{Params: []byte(`{ "path": "a" }`), Bind: &approval.Bind{Host: new("h")}},
		},
		"other params are another call": {
			in: ClaimInput{Params: []byte(`{"path":"b"}`)}, want: "fingerprint_mismatch",
		},
		"another host is another call": {
			in: ClaimInput{Bind: &approval.Bind{Host: new("other")}}, want: "fingerprint_mismatch",
		},
		"params that are none are named": {
			in: ClaimInput{Params: []byte(`[]`)}, want: "invalid_request",
		},
		"what policy refuses by now is not handed out": {denies: "no", want: "not_claimable policy"},
		"not even to the same claim, if it lost answer": {
			a: func(a *approval.Approval) { a.ClaimedAtMs, a.ClaimID = 1, "c" }, in: ClaimInput{ClaimID: "c"}, denies: "no",
			want: "not_claimable policy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, call := readCall(t)
			if c.a != nil {
				c.a(&a)
			}
			now := c.now
			if now == 0 {
				now = inTime
			}
			repeat := a.ClaimedAtMs != 0
			got, err := claim(a, c.in, call, c.denies, now)
			if got.Refusal != nil {
				require.NoError(t, err)
				require.Equal(t, []approval.EventType{approval.EventRefused}, eventTypes(got), "policy's refusal is on record")
				require.True(t, got.Unchanged)
				err = got.Refusal
			}
			require.Equal(t, c.want, whyOf(err))
			switch {
			case c.want != "":
				require.NotContains(t, eventTypes(got), approval.EventClaimed)
			case repeat:
				require.True(t, got.Unchanged, "the same claim changes nothing")
			default:
				require.Equal(t, []approval.EventType{approval.EventClaimed}, eventTypes(got))
				require.Equal(t, now, got.Approval.ClaimedAtMs)
				require.Zero(t, a.ClaimedAtMs, "the old approval is left alone")
			}
		})
	}
}

func TestRevoke(t *testing.T) {
	for name, c := range map[string]struct {
		a    func(*approval.Approval)
		want string
	}{
		"an unclaimed yes is taken back": {},
		"a claimed one no longer": {
			a: func(a *approval.Approval) { a.ClaimedAtMs = 5 }, want: "already_used",
		},
		"there is nothing to take back while it is pending": {
			a: func(a *approval.Approval) { a.Status = approval.Pending }, want: "not_claimable pending",
		},
		"nor of a deny": {a: func(a *approval.Approval) { a.Status = approval.Denied }, want: "not_claimable denied"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := readCall(t)
			a.CallbackURL = "https://example.com"
			a.Origin = &approval.Target{Channel: "telegram", To: "1"}
			a.Deliveries = []approval.Delivery{{Kind: approval.OutcomeDelivery, Target: *a.Origin, State: approval.Sent}}
			if c.a != nil {
				c.a(&a)
			}
			got, err := revoke(a, "token:ops", "by mistake", 3000)
			require.Equal(t, c.want, whyOf(err))
			if c.want != "" {
				return
			}
			require.True(t, got.Unseal, "the call is deleted")
			require.True(t, got.EndGrants, "what it left ends with it")
			require.Equal(t, int64(3000), got.Approval.RevokedAtMs)
			require.Equal(t, "by mistake", got.Approval.RevokeReason)
			require.Equal(t, []approval.EventType{approval.EventRevoked}, eventTypes(got))
			require.Equal(t, []approval.DeliveryKind{approval.CallbackDelivery, approval.RevokedDelivery}, kinds(got.Deliveries))
			again, err := revoke(got.Approval, "token:ops", "", 4000)
			require.NoError(t, err)
			require.True(t, again.Unchanged, "once is enough")
		})
	}
}

func kinds(list []approval.Delivery) (out []approval.DeliveryKind) {
	for _, d := range list {
		out = append(out, d.Kind)
	}
	return out
}

// A call is kept for a retry from its last use on, for as long as the operator wrote.
func TestHowLongACallIsKept(t *testing.T) {
	done := func(status string, d approval.Decision) func(*approval.Approval) {
		return func(a *approval.Approval) {
			a.Decision, a.ClaimedAtMs, a.Result = d, 2000, &approval.Result{Status: status, AtMs: 3000}
		}
	}
	for name, c := range map[string]struct {
		a    func(*approval.Approval)
		want int64
	}{
		"from the end of the time to claim it":   {func(*approval.Approval) {}, 1000 + approval.ClaimWindowMs},
		"from the claim":                         {func(a *approval.Approval) { a.ClaimedAtMs = 2000 }, 2000},
		"from the result of a failure":           {done("failed", approval.AllowOnce), 3000},
		"what succeeded once is done with":       {done("succeeded", approval.AllowOnce), 0},
		"what is allowed always may run anew":    {done("succeeded", approval.AllowAlways), 3000},
		"what was revoked is kept for nobody":    {func(a *approval.Approval) { a.RevokedAtMs = 1 }, 0},
		"what is pending is not kept for retry":  {func(a *approval.Approval) { a.Status = approval.Pending }, 0},
		"what was denied is not kept for anyone": {func(a *approval.Approval) { a.Status = approval.Denied }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := readCall(t)
			c.a(&a)
			require.Equal(t, c.want, KeptSinceMs(a))
			rules := &Rules{RetryWindowMs: 10}
			require.Equal(t, c.want != 0, callGone(a, rules, c.want+10))
			require.False(t, callGone(a, rules, c.want+9))
			require.False(t, callGone(a, &Rules{}, 1<<60), "without a window it is kept as long as its approval")
		})
	}
}

func TestReport(t *testing.T) {
	code := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		claimed bool
		before  *approval.Result
		r       approval.Result
		want    string
		same    bool
	}{
		"what was claimed has a result": {claimed: true, r: approval.Result{Status: "failed", ExitCode: code(1)}},
		"what was not claimed has none": {r: approval.Result{Status: "failed"}, want: "not_claimable pending"},
		"the same result again changes nothing": {
			claimed: true, before: &approval.Result{Status: "failed", ExitCode: code(1), AtMs: 1},
			r: approval.Result{Status: "failed", ExitCode: code(1)}, same: true,
		},
		"another status is refused": {
			claimed: true, before: &approval.Result{Status: "failed"}, r: approval.Result{Status: "succeeded"}, want: "already_used",
		},
		"another exit code is refused": {
			claimed: true, before: &approval.Result{Status: "failed", ExitCode: code(1)},
			r: approval.Result{Status: "failed", ExitCode: code(2)}, want: "already_used",
		},
		"so is none": {
			claimed: true, before: &approval.Result{Status: "failed", ExitCode: code(1)}, r: approval.Result{Status: "failed"},
			want: "already_used",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := readCall(t)
			a.Result = c.before
			a.Origin = &approval.Target{Channel: "telegram", To: "1"}
			if c.claimed {
				a.ClaimedAtMs = 2000
			}
			got, err := report(a, "", "", c.r, 3000)
			require.Equal(t, c.want, whyOf(err))
			require.Equal(t, c.same, got.Unchanged)
			if c.want == "" && !c.same {
				require.Equal(t, int64(3000), got.Approval.Result.AtMs)
				require.Equal(t, []approval.EventType{approval.EventResult}, eventTypes(got))
				require.Equal(t, []approval.DeliveryKind{approval.ResultDelivery}, kinds(got.Deliveries))
			}
		})
	}
	a, _ := readCall(t)
	a.ClaimedAtMs = 2000
	got, err := report(a, "", "", approval.Result{Status: "succeeded"}, 3000)
	require.NoError(t, err)
	require.True(t, got.Unseal, "a once-approval that succeeded needs its call no more")
}
