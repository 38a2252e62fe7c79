package messages

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// fakeDesk asks about everything but read_file and refuses rm. It notes what it
// was asked.
type fakeDesk struct {
	asked   []api.CreateRequest
	decides bool
	votes   int
}

func (f *fakeDesk) Decides() bool { return f.decides }

func (f *fakeDesk) Ask(_ context.Context, req api.CreateRequest) (api.Approval, error) {
	f.asked = append(f.asked, req)
	a := api.Approval{ID: "made-by-the-desk", Status: api.Pending, ToolName: req.ToolName, SessionKey: req.SessionKey, Code: "K7QX2M",
		Offers: []api.Decision{api.AllowOnce, api.Deny}, ArgsFingerprint: fingerprint(req.ToolName, req.Params, req.Bind)}
	switch req.ToolName {
	case "read_file":
		a.Status, a.ClaimUntilMs = api.Approved, time.Now().Add(time.Minute).UnixMilli()
	case "rm":
		a.Status = api.Denied
	}
	return a, nil
}

func (f *fakeDesk) Look(context.Context, string) (Look, error) {
	return Look{Approval: api.Approval{ID: "a", SessionKey: "s", ToolName: "deploy", Status: api.Pending}}, nil
}

func (f *fakeDesk) Vote(context.Context, string, api.Decision, string) error { f.votes++; return nil }

func (f *fakeDesk) Claim(context.Context, string, string) (api.Claim, error) {
	return api.Claim{}, &api.Problem{Code: "not_claimable"}
}

func seeds(f *testing.F) {
	for _, tongue := range tongues {
		f.Add([]byte(tongue.model))
		f.Add([]byte(tongue.user))
		f.Add([]byte(tongue.answer("approval_a", "deploy", "approve", "once")))
	}
	f.Add([]byte(chat("c", RequestApproval, `{"originalToolCall":{"name":"deploy","args":{}}}`)))
	f.Add([]byte(`{"role":"assistant","content":[{"type":"text"},{"type":"tool_use","Name":"x"}],"tool_calls":[]}`))
}

// Whatever a model says: no call stays in the message that was not allowed, and a
// message that is not changed keeps its bytes.
func FuzzIntercept(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		desk := &fakeDesk{}
		out, err := Intercept(context.Background(), desk, api.InterceptRequest{SessionKey: "s", Message: raw})
		if err != nil {
			return
		}
		allowed := 0
		for _, c := range out.Calls {
			if c.Outcome == CallRuns {
				allowed++
			}
		}
		if allowed == len(out.Calls) {
			require.Equal(t, string(raw), string(out.Message))
		}
		list := []json.RawMessage{out.Message}
		if kindOf(out.Message) == '[' {
			if list, err = parseArray(out.Message); err != nil {
				t.Fatal(err)
			}
		}
		runs := 0
		for _, m := range list {
			o, err := parseObject(m)
			require.NoError(t, err)
			for _, sh := range shapes() {
				for _, it := range sh.read(m, o).items {
					require.NotEqual(t, odd, it.kind, "%s", m)
					if it.kind == call && !strings.HasPrefix(it.id, idPrefix) {
						require.Equal(t, "read_file", it.name)
						runs++
					}
				}
			}
		}
		require.Equal(t, allowed, runs)
	})
}

// Whatever a conversation holds, preparing it is sound; and a token that may not
// decide votes for nothing.
func FuzzConversation(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		list := []json.RawMessage{raw, raws(tongues["openai"].model)[0]}
		desk := &fakeDesk{}
		out, err := Decide(context.Background(), desk, api.DecisionsRequest{SessionKey: "s", Messages: list})
		require.Zero(t, desk.votes)
		for _, c := range out.Calls {
			require.NotEqual(t, CallRuns, c.Outcome)
		}
		got, errPrepare := Prepare(api.PrepareRequest{Messages: list})
		require.Equal(t, err != nil, errPrepare != nil && err != nil, "both read the same messages")
		if errPrepare == nil {
			checkPrepared(t, got.Messages)
		}
	})
}

// Whatever arrives in chunks, one a line: no call passes before the end, nor
// afterwards one that was not allowed.
func FuzzStream(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(strings.Join(s.chunks, "\n")))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		s, err := NewStream(&fakeDesk{}, api.InterceptRequest{SessionKey: "s"})
		require.NoError(t, err)
		for chunk := range bytes.Lines(lines) {
			pass, err := s.Chunk(bytes.TrimSpace(chunk))
			if err != nil {
				break
			}
			for _, p := range pass {
				require.Empty(t, callsIn(t, p), "%s", p)
			}
		}
		rest, calls, err := s.End(context.Background())
		if err != nil {
			require.Empty(t, rest)
			return
		}
		left := 0
		for _, c := range calls {
			if c.Outcome != CallRefused {
				left++
			}
		}
		names := []string{}
		for _, p := range rest {
			names = append(names, callsIn(t, p)...)
		}
		require.Len(t, names, left)
		for _, n := range names {
			require.Contains(t, []string{"read_file", RequestApproval}, n)
		}
	})
}

// callsIn names the calls that a chunk carries, in any dialect.
func callsIn(t *testing.T, raw json.RawMessage) (names []string) {
	var c struct {
		Choices []struct {
			Delta struct {
				ToolCalls []struct {
					Function struct{ Name string }
				} `json:"tool_calls"`
			}
		}
		ToolCalls []struct {
			Function struct{ Name string }
		} `json:"tool_calls"`
		ContentBlock struct{ Type, Name string } `json:"content_block"`
		Candidates   []struct {
			Content struct {
				Parts []struct {
					FunctionCall *struct{ Name string }
				}
			}
		}
	}
	_ = json.Unmarshal(raw, &c) // as lenient as clients are
	for _, choice := range c.Choices {
		for _, call := range choice.Delta.ToolCalls {
			names = append(names, call.Function.Name)
		}
	}
	for _, call := range c.ToolCalls {
		names = append(names, call.Function.Name)
	}
	if c.ContentBlock.Type == "tool_use" {
		names = append(names, c.ContentBlock.Name)
	}
	for _, candidate := range c.Candidates {
		for _, p := range candidate.Content.Parts {
			if p.FunctionCall != nil {
				names = append(names, p.FunctionCall.Name)
			}
		}
	}
	return names
}
