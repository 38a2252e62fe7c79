package card

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// A card's first line says who asks for what, and the call is there once.
func TestACardSaysACallOnce(t *testing.T) {
	bound := func(dir, host string) *approval.Bind { return &approval.Bind{Workdir: &dir, Host: &host} }
	for name, c := range map[string]struct {
		tool, params string
		form         approval.Form
		bind         *approval.Bind
		want         string // headline | payload, a fact each | place
	}{
		"a command":                {"exec", `{"command":"terraform apply","workdir":"/srv/infra"}`, "", nil, "to run | terraform apply | in /srv/infra"},
		"with all that it has":     {"exec", `{"command":"make","env":{"A":"b"},"host":"h","workdir":"/w"}`, "", bound("/w", "h"), "to run | make | env=A=b | in /w on h"},
		"bound to another place":   {"exec", `{"command":"make","workdir":"/w"}`, "", bound("/x", ""), "to run | make | bound to directory=/x | in /w"},
		"another shell":            {"Bash", `{"command":"make","description":"build it"}`, approval.FormCommand, nil, "to run | make | description=build it | "},
		"a new file":               {"write", `{"content":"a\nb\nc","path":"go.mod"}`, approval.FormWrite, nil, "to write go.mod (3 lines) | a⏎b⏎c | "},
		"an edit":                  {"edit", `{"path":"go.mod","old_string":"a\nx\nc","new_string":"a\ny\nc"}`, approval.FormWrite, nil, "to change go.mod |   a⏎- x⏎+ y⏎  c | "},
		"a patch":                  {"apply_patch", `{"input":"*** Add File: a\n*** Delete File: b"}`, approval.FormPatch, nil, "to change 2 files | *** Add File: a⏎*** Delete File: b | "},
		"a patch of one file":      {"apply_patch", `{"input":"--- a/x.go\n+++ b/x.go"}`, approval.FormPatch, nil, "to change x.go | --- a/x.go⏎+++ b/x.go | "},
		"a message":                {"message", `{"to":"#general","text":"deploy is done"}`, approval.FormMessage, nil, "to send a message to #general | deploy is done | "},
		"a payment":                {"pay", `{"amount":"249.90","currency":"EUR","to":"ACME GmbH","memo":"m"}`, approval.FormPayment, nil, "to pay 249.90 EUR to ACME GmbH | memo=m | "},
		"a refund":                 {"refund", `{"amount":"3"}`, approval.FormPayment, nil, "to refund 3 |  | "},
		"a look at the web":        {"webfetch", `{"url":"https://example.org"}`, approval.FormFetch, nil, "to fetch | https://example.org | "},
		"a call of the web":        {"http_request", `{"method":"POST","url":"https://example.org"}`, approval.FormFetch, nil, "to call | https://example.org | method=POST | "},
		"a tool nobody knows":      {"deploy", `{"version":"v7","host":"prod-1"}`, "", nil, "to use deploy | host=prod-1 | version=v7 | "},
		"one that calls itself so": {"pay", `{"amount":1}`, "", nil, "to use pay | amount=1 | "},
		"a path of many words":     {"write", `{"content":"a","path":"` + strings.Repeat("x", 61) + `"}`, approval.FormWrite, nil, "to write " + strings.Repeat("x", 61) + " (1 line) | a | "},
		"a path that hides":        {"write", `{"content":"a","path":"a\u202eb"}`, approval.FormWrite, nil, `to write a file (1 line) | a | path=a\u{202E}b | `},
	} {
		t.Run(name, func(t *testing.T) {
			a, facts := asked(t, c.tool, c.params, c.bind)
			a.Form = c.form
			got := Draw(a, approval.Delivery{Kind: approval.CardDelivery}, facts, reading())
			require.Nil(t, got.File)
			require.NotEmpty(t, got.Card.Offers)
			line := []string{strings.TrimPrefix(got.Card.Headline.String(), "main-agent asks ")}
			for _, f := range got.Card.Payload {
				value := strings.ReplaceAll(f.Value, "\n", "⏎")
				if !f.Block {
					value = f.Name + "=" + value
				}
				line = append(line, value)
			}
			if len(got.Card.Payload) == 0 {
				line = append(line, "")
			}
			require.Equal(t, c.want, strings.Join(append(line, got.Card.Place.String()), " | "))
		})
	}
}

// More than twelve lines of a call go into a file, and their beginning stands on the card.
func TestALongCallGoesIntoAFile(t *testing.T) {
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat(`line\n`, n), `\n`) }
	got := drawnCard(t, "exec", `{"command":"`+lines(12)+`"}`, nil, approval.Delivery{})
	require.Nil(t, got.File)
	got = drawnCard(t, "exec", `{"command":"`+lines(13)+`"}`, nil, approval.Delivery{})
	require.NotNil(t, got.File)
	require.Equal(t, "line\nline\nline\nline (9 more lines, whole in the file above)", got.Card.Payload[0].Value)
	require.Empty(t, got.Card.Offers, "nothing is offered before the file is there")
	require.NotEmpty(t, drawnCard(t, "exec", `{"command":"`+lines(13)+`"}`, nil, approval.Delivery{Attached: true}).Card.Offers)
	require.NotNil(t, drawnCard(t, "exec", `{"command":"`+strings.Repeat("x", 12*lineWidth+1)+`"}`, nil, approval.Delivery{}).File)

	a, facts := asked(t, "edit", `{"path":"a","old_string":"`+lines(20)+`","new_string":"x"}`, nil)
	a.Form = approval.FormWrite
	require.Contains(t, Draw(a, approval.Delivery{Kind: approval.CardDelivery}, facts, reading()).File.Text, "change:\n│ - line\n│ - line", "the file has the difference")
}

// Who asks is the agent that the token is for, else the token; what only the call says is
// a claim, and stands where claims do.
func TestWhoAsks(t *testing.T) {
	a, facts := asked(t, "exec", `{"command":"make"}`, nil)
	a.AgentID, a.Justification, a.Requester = "deployer", "weekly run", &approval.Requester{Person: "carol"}
	card := func() *Card { return Draw(a, approval.Delivery{Kind: approval.CardDelivery}, facts, reading()).Card }
	require.Equal(t, "main-agent asks to run", card().Headline.String())
	require.Equal(t, []string{"claimed: “weekly run”, for carol, by agent deployer"}, card().Claims)
	require.Contains(t, card().Details, Fact{Name: "Agent", Value: "deployer"})
	a.TokensAgent = true
	require.Equal(t, "deployer asks to run", card().Headline.String())
	require.Equal(t, []string{"claimed: “weekly run”, for carol"}, card().Claims)
	a.Context.From = approval.AskedFrom{Runtime: "Claude Code", SubagentType: "Explore", SubagentID: "a1b2",
		Branch: "fix/login\u202e", Worktree: strings.Repeat("w", 100)}
	require.Equal(t, []string{"claimed: “weekly run”, for carol",
		`claimed: in Claude Code (Explore) on fix/login\u{202E} in worktree ` + strings.Repeat("w", 29) + "…"}, card().Said())
	require.Equal(t, Fact{Name: "From", Value: `Claude Code (Explore) on fix/login\u{202E} in worktree ` + strings.Repeat("w", 100)},
		card().Details[1], "whole, as a claim, and before what platforms fold away")
	require.Contains(t, card().Details, Fact{Name: "Subagent", Value: "a1b2"})
	a.Context.From = approval.AskedFrom{Runtime: "Codex", Branch: "fix/login", Worktree: "login"}
	require.Equal(t, "claimed: in Codex on fix/login", card().From)
	require.Contains(t, card().Details, Fact{Name: "Agent", Value: "deployer", Own: true})
}

// Of a call that nobody may see the card says what can be done about it.
func TestAFingerprintIsNoHeadline(t *testing.T) {
	a, _ := asked(t, "deploy", `{}`, nil)
	a.Owner, a.Dialect = "scanner", approval.DialectAgentShield
	card := Draw(a, approval.Delivery{Kind: approval.CardDelivery}, nil, reading()).Card
	require.Equal(t, Words{{Text: "scanner asks "}, {Text: "to run "}, theirs("deploy"), {Text: ", contents not shown here: deny here, or decide in the terminal"}}, card.Headline)
	require.Empty(t, card.DenyOnly)
	require.Empty(t, card.Offers)
	require.Contains(t, card.Details, Fact{Name: "Fingerprint", Value: a.Fingerprint[:12], Own: true})
}

// The state is one line: votes, and until when in the reader's zone. What cannot be seen
// is flagged there.
func TestTheStateOfACard(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	r := reading()
	r.Zone, r.Now = berlin, time.Date(2026, 1, 2, 13, 15, 0, 0, time.UTC).UnixMilli()
	a, facts := asked(t, "exec", `{"command":"make"}`, nil)
	a.CreatedAtMs, a.ExpiresAtMs, a.Rule.MinApprovals = r.Now, r.Now+900_000, 2
	a.Votes = []approval.Vote{{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: approval.AllowOnce, Voter: &alice}}
	state := Draw(a, approval.Delivery{Kind: approval.CardDelivery}, facts, r).Card.State
	require.Equal(t, State{Votes: "1 of 2 yes (alice)", UntilMs: a.ExpiresAtMs, Until: "until 14:30 CET (15 min)"}, state)

	for params, want := range map[string][]string{
		`{"command":"ls \u202egpj"}`:      {"hidden characters"},
		`{"command":"ls \u3164"}`:         {"hidden characters"},
		`{"command":"p\u0430ypal x"}`:     {"look-alikes"},
		`{"command":"a\n\tb"}`:            nil,
		`{"command":"p\u0430y \u200b x"}`: {"hidden characters", "look-alikes"},
	} {
		require.Equal(t, want, drawnCard(t, "exec", params, nil, approval.Delivery{}).Card.State.Flags, params)
	}
}

// After the end the outcome is the first line; what was taken back begins with that.
func TestOutcomes(t *testing.T) {
	made := time.Date(2026, 1, 2, 14, 0, 0, 0, time.UTC).UnixMilli()
	exit := func(n int) *int { return &n }
	for want, change := range map[string]func(*approval.Approval){
		"✅ Allowed once by alice, 14:15 UTC": func(a *approval.Approval) {},
		"✅ Allowed once by alice, 14:15 UTC: fine · reported: exit 0": func(a *approval.Approval) {
			a.Reason, a.Result = "fine", &approval.Result{Status: "succeeded", ExitCode: exit(0), Summary: "all good"}
		},
		"✅ Allowed once by alice, 14:15 UTC · ❌ reported: failed, exit 2": func(a *approval.Approval) { a.Result = &approval.Result{Status: "failed", ExitCode: exit(2)} },
		"✅ Allowed once by alice, 14:15 UTC · reported: succeeded":        func(a *approval.Approval) { a.Result = &approval.Result{Status: "succeeded"} },
		"✅ Allowed once by alice, 14:15 UTC · operators let the agent run it again, until 3 Jan 14:00 UTC": func(a *approval.Approval) {
			a.Retries, a.ClaimUntilMs = 1, made+24*3600_000
		},
		"⛔ Denied by alice, 14:15 UTC: no": func(a *approval.Approval) { a.Status, a.Decision, a.Reason = approval.Denied, approval.Deny, "no" },
		"⌛ Nobody answered in 15 min": func(a *approval.Approval) {
			a.Status, a.DecidedBy, a.Reason = approval.Expired, nil, approval.NobodyDecided
		},
		"⌛ Withdrawn by token main-agent, 14:15 UTC": func(a *approval.Approval) {
			a.Status, a.DecidedBy, a.Reason = approval.Withdrawn, []string{"token:main-agent"}, "it is done"
		},
		"↩️ Taken back by bob, 14:16 UTC, before it ran: wrong host. It had been allowed once by alice": func(a *approval.Approval) {
			a.RevokedAtMs, a.RevokedBy, a.RevokeReason = made+16*60_000, "person:bob", "wrong host"
		},
	} {
		a, _ := asked(t, "exec", `{"command":"make"}`, nil)
		a.Status, a.Decision, a.DecidedBy = approval.Approved, approval.AllowOnce, []string{"person:alice"}
		a.CreatedAtMs, a.ExpiresAtMs, a.ResolvedAtMs = made, made+15*60_000, made+15*60_000
		change(&a)
		card := Draw(a, approval.Delivery{Kind: approval.CardDelivery, MessageID: "5"}, nil, reading()).Card
		require.Equal(t, want, card.Outcome.String())
		require.Empty(t, card.Payload)
		require.Equal(t, "make", card.Summary)
		bare := Draw(a, approval.Delivery{Kind: approval.CardDelivery, MessageID: "5"}, nil, reading()).Bare
		for _, word := range []string{"make", "no", "wrong host", "fine", "all good", "it is done"} {
			require.NotContains(t, strings.ReplaceAll(says(bare), "nobody", ""), ": "+word)
		}
	}
}

// Risk words come first, then at most three reasons, the strongest first and none twice.
func TestReasonsOnACard(t *testing.T) {
	for name, c := range map[string]struct {
		codes, why []string
		want       string
	}{
		"none": {nil, nil, "R4 high impact"},
		"one says it of two": {
			[]string{"git-force-push", "git-push"}, []string{"It overwrites history.", "It sends commits."},
			"R4 high impact: overwrites history elsewhere"},
		"a name that speaks": {
			[]string{"unknown-tool", "keyword-pay"}, []string{"The desk does not know this tool.", "Its name speaks of payments."},
			"R4 high impact: unknown tool, speaks of payments"},
		"what is mild is left out": {
			[]string{"git-push", "network-read"}, []string{"It sends commits.", "It reads."}, "R4 high impact: pushes commits"},
		"unless it is all there is":              {[]string{"network-read"}, []string{"It reads."}, "R4 high impact: reads"},
		"that the desk asks for all is a detail": {[]string{"always-asks"}, []string{"The desk asks."}, "R4 high impact"},
		"three of four": {
			[]string{"a", "b", "c", "d"}, []string{"It as.", "It bs.", "URLs are odd.", "It ds."}, "R4 high impact: as; bs; URLs are odd"},
		"as many as there is room for": {
			[]string{"a", "b"}, []string{"It " + strings.Repeat("a", 100) + ".", "It bbbbbbbbbbb."}, "R4 high impact: " + strings.Repeat("a", 100)},
		"the operator's rule comes first": {
			[]string{"a", "b", "c", "rule:freeze"}, []string{"It as.", "It bs.", "It cs.", "Freeze until Monday."},
			"R4 high impact: freeze until Monday; as; bs"},
		"the core's own sentences have their codes": {
			[]string{"git-push", "classifier:x", approval.ReasonMustAsk}, []string{RulesChangedText, "It sends commits.", MustAskText},
			"R4 high impact: the rules changed while this waited; earlier votes no longer count; pushes commits"},
	} {
		t.Run(name, func(t *testing.T) {
			a := approval.Approval{Judged: approval.Judged{Assessment: approval.Assessment{RiskClass: approval.R4, ReasonCodes: c.codes}, Why: c.why}}
			require.Equal(t, c.want, RiskText(a))
		})
	}
}

// What a vote did is said to whoever gave it.
func TestVotedText(t *testing.T) {
	a, _ := asked(t, "exec", `{"command":"make"}`, nil)
	ended := func(s approval.Status, d approval.Decision) approval.Approval {
		b := a
		b.Status, b.Decision = s, d
		return b
	}
	for want, c := range map[string]struct {
		a    approval.Approval
		said approval.Decision
	}{
		"Allowed. It may run once, within 5 minutes.": {ended(approval.Approved, approval.AllowOnce), approval.AllowOnce},
		"Allowed for the session. It may run once, within 5 minutes; what the menu said is not asked again for 12 hours.":           {ended(approval.Approved, approval.AllowSession), approval.AllowSession},
		"Allowed always. It may run once, within 5 minutes; this very call is not asked again until an operator deletes the grant.": {ended(approval.Approved, approval.AllowAlways), approval.AllowAlways},
		"Denied. The very same call is refused unasked for 10 minutes.":                                                             {ended(approval.Denied, approval.Deny), approval.Deny},
		"You cannot approve your own request, so your deny withdrew it.":                                                            {ended(approval.Withdrawn, ""), approval.Deny},
		"Denied.": {ended(approval.Denied, approval.Deny), approval.AllowOnce},
	} {
		got := VotedText(c.a, approval.Voter{}, c.said, directoryOfTwo(), time.Now().UnixMilli())
		require.Equal(t, want, got)
		require.LessOrEqual(t, len(got), 200, "Bot API, answerCallbackQuery.text")
	}
}

// The state is one line, in the platform's writing, without what there is nothing to say of.
func TestStateLine(t *testing.T) {
	plain, code := func(s string) string { return "<" + s + ">" }, func(s string) string { return "`" + s + "`" }
	c := Card{Code: "7KQ2AB"}
	require.Equal(t, "`7KQ2AB`", c.StateLine(plain, code, ""))
	c.State = State{Flags: []string{"hidden characters", "look-alikes"}, Votes: "1 of 2 yes (alice)", Also: "also asked: bob"}
	require.Equal(t, "<1 of 2 yes (alice)> · soon · <also asked: bob> · `7KQ2AB`",
		c.StateLine(plain, code, "soon"))
}

// Of the reasons none is said twice, and last comes what is the same of every call of an agent.
func TestReasonsSayWhatTheyCan(t *testing.T) {
	line := func(points []approval.Point, codes ...string) string {
		a, facts := asked(t, "exec", `{"command":"frob"}`, nil)
		a.Assessment = approval.Assessment{RiskClass: approval.R3, ReasonCodes: codes}
		for _, c := range codes {
			a.Why = append(a.Why, "It has "+c+".")
		}
		a.Points = points
		return strings.TrimPrefix(Of(a, facts, reading()).Why, "R3 external change or irreversible: ")
	}
	same := func(code string) approval.Point {
		return approval.Point{Code: code, Text: "x", Does: "deletes %s", Of: []string{"b"}}
	}
	require.Equal(t, "sends data; writes files, and no workspace is known", strings.Replace(line(nil, "no-workspace", "sends-data"), "has sends-data", "sends data", 1))
	require.Equal(t, "writes files, and no workspace is known", line(nil, "no-workspace", "read-only-command"))
	require.Equal(t, "deletes b", line([]approval.Point{same("destructive-word"), same("unknown-option")}, "destructive-word", "unknown-option"))
	require.Equal(t, "unknown tool, speaks of sending and payments", line(nil, "unknown-tool", "keyword-send", "keyword-pay"))
	require.Equal(t, "changes running infrastructure", line(nil, "destroys-infrastructure", "remote-system"))
}

// A server's tool is named as people do, if its name can be read one way only; the details have the raw one.
func TestToolsOfServersAreNamedInWords(t *testing.T) {
	for tool, want := range map[string]string{
		"mcp__github__create_issue": "create_issue at github", "mcp__a__b__c": "mcp__a__b__c", "mcp____b": "mcp____b", "mcp__a__": "mcp__a__",
		"mcp__a___b": "mcp__a___b", "mcp_a_b": "mcp_a_b", "github.create": "github.create",
	} {
		a, facts := asked(t, tool, `{"x":1}`, nil)
		c := Of(a, facts, reading())
		require.Equal(t, "main-agent asks to use "+want, c.Headline.String())
		require.Contains(t, c.Details, Fact{Name: "Tool", Value: tool, Own: true})
	}
}
