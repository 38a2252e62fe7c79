package hook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// wire answers a client's requests.
type wire func(r *http.Request) (status int, body any, err error)

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, err := w(r)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(body)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(raw)))}, err
}

func deskOf(w wire) *api.Client {
	return &api.Client{Server: "http://desk.test", Token: "t", HTTP: &http.Client{Transport: w}}
}

// asking is how long a question took, and what came of it.
func asking(w wire, c Call, limit time.Duration) (Verdict, time.Duration) {
	start := time.Now()
	v := Ask(context.Background(), deskOf(w), c, start.Add(limit))
	return v, time.Since(start)
}

var (
	errRefused = errors.New("connection refused")
	inSession  = Call{Tool: "Bash", Params: command("ls"), Session: "s"}
	pending    = api.Approval{ID: "a", Code: "K7QX2M", Status: api.Pending, SessionKey: "s"}
)

// However a desk fails, the answer is a deny, and comes before the runtime's limit.
func TestAdversary_H2_ADeskThatFails(t *testing.T) {
	hangs := func(r *http.Request) (int, any, error) { <-r.Context().Done(); return 0, nil, r.Context().Err() }
	then := func(next wire) wire { // pending, and then
		return func(r *http.Request) (int, any, error) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/approvals") {
				return 201, pending, nil
			}
			return next(r)
		}
	}
	for name, c := range map[string]struct {
		wire wire
		took time.Duration
		why  string
	}{
		"hangs":             {hangs, 25 * time.Second, "did not answer in time"},
		"hangs later":       {then(hangs), 25 * time.Second, "waiting for approval K7QX2M; make the same call again"},
		"is down":           {func(*http.Request) (int, any, error) { return 0, nil, errRefused }, 0, "cannot be reached"},
		"is another server": {func(*http.Request) (int, any, error) { return 200, "hello", nil }, 0, "not the JSON"},
		"answers nothing":   {func(*http.Request) (int, any, error) { return 200, map[string]any{}, nil }, 0, "gave no decision"},
		"is down later":     {then(func(*http.Request) (int, any, error) { return 0, nil, errRefused }), 25 * time.Second, "waiting for approval"},
		"refuses later":     {then(func(*http.Request) (int, any, error) { return 403, api.Problem{Code: "forbidden", Detail: "No."}, nil }), 0, "No."},
		"is disabled later": {then(func(*http.Request) (int, any, error) {
			return 503, api.Problem{Code: "approvals_disabled", Detail: "Off."}, nil
		}), 0, "Off."},
		"has no claim": {then(func(*http.Request) (int, any, error) { return 200, "x", nil }), 25 * time.Second, "waiting"},
		"expires":      {then(func(*http.Request) (int, any, error) { a := pending; a.Status = api.Expired; return 200, a, nil }), 0, "no approver decided in time"},
		"a word of its own": {func(*http.Request) (int, any, error) {
			return 200, api.Approval{Status: "allowed", SessionKey: "s"}, nil
		}, 0, "allowed"},
		"allows, no claim": {func(r *http.Request) (int, any, error) {
			return approvedThen(r, 409, api.Problem{Code: "not_claimable", Detail: "Late."})
		}, 0, "Late."},
		"a claim that hangs": {func(r *http.Request) (int, any, error) {
			if strings.HasSuffix(r.URL.Path, "/claim") {
				return hangs(r)
			}
			return approvedThen(r, 0, nil)
		}, 25 * time.Second, "gave no decision"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v, took := asking(c.wire, inSession, 25*time.Second)
				require.False(t, v.Allow, v.Why)
				require.Contains(t, v.Why, c.why)
				require.LessOrEqual(t, took, c.took)
			})
		})
	}
}

// approvedThen is an approved approval, and another answer to what follows.
func approvedThen(r *http.Request, status int, body any) (int, any, error) {
	if strings.HasSuffix(r.URL.Path, "/claim") {
		return status, body, nil
	}
	return 200, api.Approval{ID: "a", Status: api.Approved, SessionKey: "s"}, nil
}

// A yes is not lost with a desk that is slow, or away for a moment, just when it is claimed: the same claim is made again.
func TestAsk_AClaimIsMadeAgain(t *testing.T) {
	for name, first := range map[string]wire{
		"slow":    func(*http.Request) (int, any, error) { time.Sleep(10 * time.Second); return 200, api.Claim{}, nil },
		"away":    func(*http.Request) (int, any, error) { return 0, nil, errRefused },
		"starts":  func(*http.Request) (int, any, error) { return 503, api.Problem{Code: "unavailable"}, nil },
		"garbled": func(*http.Request) (int, any, error) { return 502, "x", nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var names []string
				v, _ := asking(func(r *http.Request) (int, any, error) {
					if !strings.HasSuffix(r.URL.Path, "/claim") {
						return approvedThen(r, 0, nil)
					}
					var in api.ClaimRequest
					require.NoError(t, json.NewDecoder(r.Body).Decode(&in))
					if names = append(names, in.ClaimID); len(names) == 1 {
						return first(r)
					}
					return 200, api.Claim{}, nil
				}, inSession, 25*time.Second)
				require.True(t, v.Allow, v.Why)
				require.NotEmpty(t, names[0])
				for _, again := range names {
					require.Equal(t, names[0], again)
				}
			})
		})
	}
}

// A desk that is gone for good while a person decides is not waited for all day, and
// one that comes back is.
func TestAsk_Outage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		down := func(r *http.Request) (int, any, error) {
			if r.Method == http.MethodPost {
				return 201, pending, nil
			}
			return 0, nil, errRefused
		}
		v, took := asking(down, inSession, 24*time.Hour)
		require.Contains(t, v.Why, "cannot be reached")
		require.Less(t, took, 3*time.Minute)

		start = time.Now()
		back := func(r *http.Request) (int, any, error) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/claim"):
				return 200, api.Claim{}, nil
			case time.Since(start) < time.Second || r.Method == http.MethodPost:
				return 201, pending, nil
			case time.Since(start) < time.Minute:
				return 503, api.Problem{Code: "unavailable", Detail: "Starting."}, nil
			}
			a := pending
			a.Status, a.DecidedBy = api.Approved, []string{"person:alice"}
			return 200, a, nil
		}
		v, took = asking(back, inSession, 24*time.Hour)
		require.Equal(t, Verdict{Allow: true, Why: "allowed by alice"}, v)
		require.Less(t, took, 70*time.Second)
	})
}

// What went wrong with a report is said where the model can do something about it.
func TestReport(t *testing.T) {
	said := func(status int, code string) string {
		return Report(t.Context(), deskOf(func(*http.Request) (int, any, error) { return status, api.Problem{Code: code, Detail: "No."}, nil }),
			Call{ID: "c", outcome: outcomeOf("succeeded")}).Why
	}
	require.Empty(t, said(404, "not_found"))
	require.Empty(t, said(409, "already_used"))
	require.Equal(t, "the result was not reported: No. (unauthorized)", said(401, "unauthorized"))
	require.Empty(t, Report(t.Context(), nil, Call{}).Why)
	require.Empty(t, Report(t.Context(), nil, Call{ID: "c", Session: "s"}).Why, "of what is not known nothing is said")
}

// A result names the run that was claimed when people had decided. What policy let run at once was
// claimed under another name: its result is of the call's id.
func TestReport_NamesItsClaim(t *testing.T) {
	t.Parallel()
	c := Call{ID: "toolu_1", Session: "s", outcome: outcomeOf("failed")}
	for _, byPolicy := range []bool{false, true} {
		var named []string
		require.Empty(t, Report(t.Context(), deskOf(func(r *http.Request) (int, any, error) {
			var in api.ResultRequest
			require.NoError(t, json.NewDecoder(r.Body).Decode(&in))
			require.Equal(t, "failed", in.Status)
			named = append(named, in.ClaimID)
			if byPolicy && in.ClaimID != "" {
				return 404, api.Problem{Code: "not_found"}, nil
			}
			return 200, pending, nil
		}), c).Why)
		require.Equal(t, c.claimID(), named[0])
		require.Len(t, named, map[bool]int{false: 1, true: 2}[byPolicy])
		require.NotEqual(t, c.claimID(), Call{ID: "toolu_2", Session: "s"}.claimID())
	}
}

// A card beside a runtime's own dialog names what only the body of the dialog and that of
// the call that has run have in common; when the call has run, the card goes.
func TestReport_WithdrawsTheCardBesideADialog(t *testing.T) {
	dialog := Call{Tool: "Bash", Params: command("ls"), Session: "s", Prompt: "p"}
	ran := dialog
	ran.ID, ran.outcome = "toolu_1", outcomeOf("succeeded")
	id := dialog.Request().ID
	require.NotEmpty(t, id)
	require.Equal(t, "toolu_1", ran.Request().ID)
	for _, other := range []Call{
		{Tool: "Bash", Params: command("ls"), Session: "s", Prompt: "q"}, {Tool: "Bash", Params: command("ls"), Session: "t", Prompt: "p"},
		{Tool: "Bash", Params: command("id"), Session: "s", Prompt: "p"}, {Tool: "Read", Params: command("ls"), Session: "s", Prompt: "p"},
		{Tool: "Bash", Params: command("ls"), Session: "s"}, {Tool: "Bash", Params: command("ls"), Prompt: "p"},
	} {
		require.NotEqual(t, id, other.Request().ID)
	}

	for name, c := range map[string]struct {
		call   Call
		result map[string]int // status of a result, by the approval's id
		want   []string
	}{
		"answered in the terminal": {ran, map[string]int{"toolu_1": 404, id: 409}, []string{"toolu_1/result", "toolu_1/result", id + "/result", id + "/withdraw"}},
		"answered on the card":     {ran, map[string]int{"toolu_1": 404, id: 200}, []string{"toolu_1/result", "toolu_1/result", id + "/result"}},
		"asked before every call":  {ran, map[string]int{"toolu_1": 200}, []string{"toolu_1/result"}},
		"of no prompt":             {Call{ID: "toolu_1", outcome: outcomeOf("succeeded")}, map[string]int{"toolu_1": 404}, []string{"toolu_1/result"}},
		"not known":                {Call{Tool: "Bash", Params: command("ls"), Session: "s", Prompt: "p", ID: "toolu_1"}, nil, []string{id + "/withdraw"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			verdict := Report(t.Context(), deskOf(func(r *http.Request) (int, any, error) {
				what := strings.TrimPrefix(r.URL.Path, "/v1/approvals/")
				got = append(got, what)
				if of, ok := strings.CutSuffix(what, "/result"); ok && c.result[of] != 200 {
					return c.result[of], api.Problem{Code: "x", Detail: "No."}, nil
				}
				return 200, pending, nil
			}), c.call)
			require.Empty(t, verdict.Why)
			require.Equal(t, c.want, got)
		})
	}
}

func TestDecidedBy(t *testing.T) {
	alice := api.Vote{Voter: &api.Voter{Person: "alice", Channel: "discord"}}
	for want, a := range map[string]api.Approval{
		"allowed by alice in Discord and telegram:7": {Status: api.Approved, DecidedBy: []string{"person:alice", "telegram:7"}, Votes: []api.Vote{alice}},
		"allowed by a standing permission":           {Status: api.Approved, DecidedBy: []string{"grant:1"}},
		"denied: alice denied this very call 4 min ago": {Status: api.Denied, DecidedBy: []string{"grant:1"},
			ReasonCodes: []string{"recently-denied"}, Reason: "alice denied this very call 4 min ago"},
		"denied by policy: It deletes. All of it.": {Status: api.Denied, DecidedBy: []string{"policy"}, Why: []string{"It deletes.", "All of it."}},
		"withdrawn by token:agent: gone":           {Status: api.Withdrawn, DecidedBy: []string{"token:agent"}, Reason: "gone"},
	} {
		require.Equal(t, want, decidedBy(a))
	}
}

// A runtime that goes while its call is being allowed takes the yes with it: a later call could claim it.
func TestAsk_T30_GoneAtTheYes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked []string
	desk := deskOf(func(r *http.Request) (int, any, error) {
		asked = append(asked, r.URL.Path)
		if r.Method == http.MethodGet {
			a := pending
			a.Status = api.Approved
			cancel()
			return 200, a, nil
		}
		return 201, pending, nil
	})
	v := Ask(ctx, desk, inSession, time.Now().Add(time.Hour))
	require.Equal(t, Verdict{Why: gone}, v)
	require.Equal(t, "/v1/approvals/a/withdraw", asked[len(asked)-1])
}

// A client that ends between the request and its answer leaves no card behind, and a desk that never answers does not
// hold it.
func TestAsk_T30_GoneBeforeTheAnswer(t *testing.T) {
	for name, answers := range map[string]bool{"answers": true, "hangs": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				withdrawn := 0
				desk := deskOf(func(r *http.Request) (int, any, error) {
					switch {
					case strings.HasSuffix(r.URL.Path, "/approvals"):
						leave()
						synctest.Wait()
						if !answers {
							<-r.Context().Done()
						}
						return 201, pending, r.Context().Err()
					case strings.HasSuffix(r.URL.Path, "/withdraw"):
						withdrawn++
						return 200, pending, nil
					}
					return 0, nil, r.Context().Err()
				})
				start := time.Now()
				require.Equal(t, Verdict{Why: gone}, Ask(ctx, desk, inSession, start.Add(time.Minute)))
				require.Equal(t, answers, withdrawn == 1)
				require.LessOrEqual(t, time.Since(start), withdrawTime)
			})
		})
	}
}

// A desk that is older than the hook, and does not know a claim about who asks, is asked without it.
func TestAsk_T30_AnOlderDesk(t *testing.T) {
	var told []bool
	desk := deskOf(func(r *http.Request) (int, any, error) {
		var in api.CreateRequest
		require.NoError(t, json.NewDecoder(r.Body).Decode(&in))
		knows := in.Context != nil && (in.Context.From != nil || in.Context.Unheard != "")
		if told = append(told, knows); knows {
			return 400, api.Problem{Status: 400, Code: "invalid_request", Detail: "context.from is not known"}, nil
		}
		require.True(t, in.Context.Subagent, "all else is said as before")
		return 200, api.Approval{ID: "a", Status: api.Denied, SessionKey: "s", DecidedBy: []string{"policy"}, Reason: "no"}, nil
	})
	c := inSession
	for _, say := range []func(*Call){
		func(c *Call) { c.From.Runtime = "Claude Code" },
		func(c *Call) { c.Unheard = "Gemini CLI" },
	} {
		c.Subagent, told = true, nil
		say(&c)
		require.Equal(t, "denied by policy: no", Ask(t.Context(), desk, c, time.Now().Add(time.Minute)).Why)
		require.Equal(t, []bool{true, false}, told)
		c = inSession
	}
}
