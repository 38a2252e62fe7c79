package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

func workdir(dir string) func(*api.CreateRequest) {
	return func(c *api.CreateRequest) { c.Bind = &api.Bind{Workdir: &dir} }
}

// scopes opens a card's menu, and gives what it says of the wider scopes.
func (r *rig) scopes(a api.Approval, button string) (menu string, card int) {
	r.t.Helper()
	m := r.more(r.alice, r.card(a), button)
	return m.Text, m.ID
}

// The card says in one line what a session's yes will cover, and it covers no more.
func TestAdversary_W6_ASessionsYesIsWhatTheCardSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.top = "agents: {list: [{id: main, workspace: /work/app}]}\n" })
	in := session("s")
	first := r.exec("rm -f a/x.go", in)
	menu, card := r.scopes(first, "Allow session")
	const says = "“rm -f” without other options, on anything except files outside the workspace, secrets and settings"
	require.Contains(t, menu, "Allow session: "+says+"; by agent main in this session, up to risk R3 and for no other reason than here, for 12 hours at most.")
	require.Equal(t, says, r.get(first).SessionCovers)
	r.tap(r.alice, r.group, card, "Allow session")
	require.EqualValues(t, "approved", r.tryExec("rm -f c d/e", in).Status)
	require.EqualValues(t, "approved", r.tryExec("rm -f c d/e", in, workdir("/work/app/sub")).Status)
	for _, other := range []string{
		"rm -f ~/.ssh/a", "rm -f /srv/x", "rm -f a /etc/b", "rm -rf a/x.go", "rm a/x.go", "rm -f -i a/x.go", "rm -f .env", "rm -f .git/a", "rm -f .",
		"rm -f ../b", "rm -f *", "sudo rm -f a/x.go", "rm -f a/x.go && frob", "rm -f $x", "rsync -a a/ b/",
	} {
		require.NotEqualValues(t, "approved", r.tryExec(other, in).Status, other)
	}
	require.EqualValues(t, "pending", r.tryExec("rm -f a/x.go", in, workdir("/work")).Status, "outside")
}

// Of a command that is not about files alone, a session's yes covers the very words.
func TestAdversary_W6_ASessionsYesForACommandIsItsWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.top = "agents: {list: [{id: main, workspace: /work/app}]}\n" })
	in := session("s")
	menu, card := r.scopes(r.exec("rsync -a a/ h:b/", in), "Allow session")
	require.Contains(t, menu, "Allow session: exactly “rsync -a a/ h:b/”, in any directory; by agent main")
	r.tap(r.alice, r.group, card, "Allow session")
	require.EqualValues(t, "approved", r.tryExec("rsync  -a a/ h:b/", in).Status)
	for _, other := range []string{"rsync -a a/ evil:/x", "rsync -a c/ h:b/", "rsync -av a/ h:b/", "rsync -a h:b/ a/", "rsync -a -e ./x a/ h:b/"} {
		require.NotEqualValues(t, "approved", r.tryExec(other, in).Status, other)
	}
}

// Where the call itself said where the workspace is, the yes is for that place.
func TestAdversary_W13_ASessionsYesStaysInTheCallersDirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := session("s")
	first := r.exec("rm -f a .env", in, workdir("/srv/app"))
	menu, card := r.scopes(first, "Allow session")
	require.Contains(t, menu, "Allow session: “rm -f” without other options, on anything in the workspace, and also .env, which is /srv/app; by agent main")
	r.tap(r.alice, r.group, card, "Allow session")
	require.EqualValues(t, "approved", r.tryExec("rm -f b .env", in, workdir("/srv/app")).Status)
	require.EqualValues(t, "pending", r.tryExec("rm -f b .env", in, workdir("/srv/other")).Status)
	require.EqualValues(t, "pending", r.tryExec("rm -f b .env", in).Status)
}

// A person's no is the newer word on all that a session's yes covered: the same in other words asks.
func TestAdversary_T10_ANoEndsTheSessionsYes(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.top = "agents: {list: [{id: main, workspace: /work/app}]}\n" })
	in := session("s")
	denied := r.exec("rm -f prod.sqlite", in)
	_, card := r.scopes(r.exec("rm -f a.go", in), "Allow session")
	r.tap(r.alice, r.group, card, "Allow session")
	require.EqualValues(t, "approved", r.tryExec("rm -f ./prod.sqlite", in).Status, "before the no")
	r.tap(r.alice, r.group, r.card(denied).ID, "Deny")
	for _, again := range []string{"rm -f ./prod.sqlite ", "rm -f 'prod.sqlite'", "rm -f a.go"} {
		require.EqualValues(t, "pending", r.tryExec(again, in).Status, again)
	}
}

// A yes for a patch covers no files of another kind.
func TestAdversary_W6_APatchStaysWhereItWas(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.top = "agents: {list: [{id: main, workspace: /work/app}]}\n" })
	patch := func(file string) api.Approval {
		a, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "apply_patch", AgentID: "main", SessionKey: "s",
			Params: fmt.Appendf(nil, `{"input":%q}`, "*** Begin Patch\n*** Add File: "+file+"\n+x\n*** End Patch\n")}, api.CreateOptions{})
		require.NoError(t, err)
		return a
	}
	menu, card := r.scopes(patch("/tmp/a.sh"), "Allow session")
	require.Contains(t, menu, "Allow session: exactly this call of the tool applypatch, in any directory; by agent main")
	r.tap(r.alice, r.group, card, "Allow session")
	require.EqualValues(t, "approved", patch("/tmp/a.sh").Status)
	require.EqualValues(t, "pending", patch("/tmp/b.sh").Status)
	require.EqualValues(t, "pending", patch("/srv/b").Status)
}

// An always is the very call, with no session, no subject and no workspace, and is
// offered by no way of voting for what changes under the same words.
func TestAdversary_W1_AnAlwaysIsTheVeryCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	line := "frob --all | tail -5 && sudo systemctl restart app"
	first := r.exec(line)
	menu, card := r.scopes(first, "Always")
	require.NotContains(t, menu, "Allow session")
	require.Contains(t, menu, "Always: exactly this call, in any directory; by agent main, until an operator deletes the grant.")
	r.tap(r.alice, r.group, card, "Always")
	require.EqualValues(t, "approved", r.tryExec(line, session("any")).Status)
	for name, a := range map[string]api.Approval{
		"another word":  r.tryExec("frob --all | tail -6 && sudo systemctl restart app"),
		"a part":        r.tryExec("frob --all"),
		"another place": r.tryExec(line, workdir("/srv/app")),
		"another agent": r.tryExec(line, func(c *api.CreateRequest) { c.AgentID = "other" }),
	} {
		require.EqualValues(t, "pending", a.Status, name)
	}
	for _, other := range []string{"python3 x.py", "./frob", "make deploy", "npm install", "frob x.lua", "rm $x", "docker compose up"} {
		a := r.exec(other, session("s"))
		require.NotContains(t, a.Offers, api.AllowAlways, other)
		require.Empty(t, a.AlwaysCovers, other)
		_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowAlways})
		requireProblem(t, err, "decision_not_offered")
	}
	placed := r.exec("frob", workdir("/srv/app"))
	require.Equal(t, "exactly this call", placed.AlwaysCovers)
}

// What an operator wrote as a pattern holds also where a card offers no always, and
// never where every command is to be asked for.
func TestAPatternForProjectCode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.operator().AddGrant(r.ctx(), api.GrantRequest{Owner: "agent", AgentID: "main", ToolName: "exec", Pattern: []string{"make", "deploy"}, MaxRiskClass: "R3"})
	require.NoError(t, err)
	require.EqualValues(t, "approved", r.tryExec("make deploy").Status)
	require.EqualValues(t, "pending", r.tryExec("make deploy2").Status)
	always := func(c *api.CreateRequest) { c.Params = []byte(`{"command":"make deploy","ask":"always"}`) }
	require.EqualValues(t, "pending", r.tryExec("", always).Status)
}
