package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/proof"
)

// ordinary is the user as whom commands are confined on a machine whose tests are started by root.
const ordinary = 65534

// confiner is a machine of an ordinary user with a workspace and a client file that knows the desk.
type confiner struct {
	*rig
	home, ws, program, client string
	uid                       int
}

func newConfiner(t *testing.T, tools string) confiner {
	t.Helper()
	home, err := os.MkdirTemp("", "confiner-")
	require.NoError(t, err)
	t.Cleanup(func() { removeState(t, home) })
	return newConfinerIn(t, ordinary, home, filepath.Join(home, "ws"), tools)
}

// removeState removes a home with the state of confined calls, which cannot be listed.
func removeState(t *testing.T, home string) {
	require.NoError(t, exec.Command("chmod", "-R", "u+rwx", home).Run())
	require.NoError(t, os.RemoveAll(home))
}

func newConfinerIn(t *testing.T, uid int, home, ws, tools string) confiner {
	t.Helper()
	c := confiner{uid: uid, home: home, ws: ws, program: filepath.Join(home, "bin", "approvalbot"), client: filepath.Join(home, "client.yaml")}
	c.rig = newRig(t, func(r *rig) {
		r.agentHas = ", agentId: main, mayConfine: true"
		r.top = "agents: {list: [{id: main, workspace: [" + c.ws + "]}]}\n"
		r.tools = tools
	})
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	for _, dir := range []string{c.ws, filepath.Dir(c.program)} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(c.program, self, 0o755))
	file, err := os.ReadFile(c.clientFileFor(c.url, ""))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.client, file, 0o600))
	if os.Geteuid() == 0 {
		for _, name := range []string{home, c.ws, c.client} {
			require.NoError(t, os.Chown(name, uid, uid))
		}
	}
	check := c.command("confine", "--", "true")
	if said, err := check.CombinedOutput(); err != nil {
		if os.Getenv("APPROVALBOT_REQUIRE_CONFINE") != "" {
			t.Fatal(string(said))
		}
		t.Skipf("confined calls: not tested, %s", said)
	}
	return c
}

// command is the program started by that user in the workspace.
func (c confiner) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.program, args...)
	cmd.Dir, cmd.Env = c.ws, []string{"HOME=" + c.home, "PATH=/usr/bin:/bin"}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid)}}
	}
	return cmd
}

// run is approvalbot run with a command, to its end.
func (c confiner) run(more []string, argv ...string) (status int, said string) {
	cmd := c.command(append(append([]string{"run", "--client", c.client}, more...), append([]string{"--"}, argv...)...)...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

func (c confiner) script(name, text string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(filepath.Join(c.ws, name), []byte("#!/bin/sh\n"+text), 0o755))
}

func (c confiner) newest() api.Approval {
	c.t.Helper()
	list, err := c.operator().List(c.ctx(), api.Filter{Limit: 1})
	require.NoError(c.t, err)
	return list.Items[0]
}

const confineUnsure = "    confine: {mode: unsure}\n"

// What the desk does not understand runs confined, by the real program with bubblewrap; if it plants something, nothing of it is kept, the
// desk hears of it, and the same command again asks a person, after whose yes it runs as it is.
func TestFlow_RunConfined(t *testing.T) {
	t.Parallel()
	c := newConfiner(t, confineUnsure)
	secret := filepath.Join(c.home, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("of the home"), 0o644))
	c.script("frob", "echo made > out.txt; cat "+secret+" 2>&1; exit 0\n")
	status, said := c.run(nil, "./frob")
	require.Zero(t, status, said)
	require.NotContains(t, said, "of the home")
	require.FileExists(t, filepath.Join(c.ws, "out.txt"))
	a := c.newest()
	require.Equal(t, &api.Confined{Profile: "v1", Writable: []string{c.ws}, Readonly: []string{}}, a.Confined)
	require.EqualValues(t, "succeeded", a.Result.Status)

	c.script("plant", "echo evil > .envrc; echo x > made; exit 0\n")
	status, said = c.run(nil, "./plant")
	require.Equal(t, 124, status, said)
	require.Contains(t, said, ".envrc")
	require.NoFileExists(t, filepath.Join(c.ws, ".envrc"))
	require.NoFileExists(t, filepath.Join(c.ws, "made"))
	planted := c.newest()
	require.EqualValues(t, "failed", planted.Result.Status)
	require.Equal(t, []string{".envrc"}, planted.Result.Confined.Blocked)
	require.Zero(t, planted.Result.Confined.Changed)

	again := c.command("run", "--client", c.client, "--", "./plant")
	var out bytes.Buffer
	again.Stdout, again.Stderr = &out, &out
	require.NoError(t, again.Start())
	asked := c.onePending()
	require.Zero(t, asked.TriedConfined.Changed)
	_, err := c.operator().Resolve(c.ctx(), asked.ID, api.ResolveRequest{Decision: "allow-once"})
	require.NoError(t, err)
	require.NoError(t, again.Wait(), out.String())
	require.FileExists(t, filepath.Join(c.ws, ".envrc"), "a person allowed it as it is")
	require.Nil(t, c.newest().Confined)
	require.Contains(t, c.body("/metrics", ""), `approvalbot_confined_total{result="blocked"} 1`)
	stats, err := c.operator().Stats(c.ctx(), 0)
	require.NoError(t, err)
	counts := map[string]int{}
	for _, n := range stats.ReasonCodes {
		counts[n.Name] = n.Count
	}
	require.Equal(t, 2, counts["runs-confined"], "./frob and the first ./plant")
	require.Equal(t, 1, counts["tried-confined"])
	policy, err := c.operator().Policy(c.ctx())
	require.NoError(t, err)
	require.Equal(t, "unsure", policy.Confine.Mode)
	require.Equal(t, []string{"agent"}, policy.Confine.Tokens)
	require.Regexp(t, `Confined:?\s+unsure, calls of agent\n`, c.cli(operatorSecret, nil, "policy", "show").out)

	// What cannot be had back is not taken away unasked.
	notes := filepath.Join(c.ws, "notes.txt")
	require.NoError(t, os.WriteFile(notes, []byte("mine"), 0o666))
	c.script("tidy", "rm notes.txt; echo x > tidied; exit 0\n")
	status, said = c.run(nil, "./tidy")
	require.Equal(t, 124, status, said)
	require.Contains(t, said, `has the content: "notes.txt"`)
	require.NoFileExists(t, filepath.Join(c.ws, "tidied"))
	tidied := c.newest().Result
	require.Equal(t, []string{"notes.txt"}, tidied.Confined.Blocked)
	require.Contains(t, tidied.Summary, "nothing of its work was kept, because it removed or overwrote files", "the card shows it")
	again = c.command("run", "--client", c.client, "--", "./tidy")
	require.NoError(t, again.Start())
	asked = c.onePending()
	require.NotNil(t, asked.TriedConfined)
	require.FileExists(t, notes)
	_, err = c.operator().Resolve(c.ctx(), asked.ID, api.ResolveRequest{Decision: "allow-once"})
	require.NoError(t, err)
	require.NoError(t, again.Wait())
	require.NoFileExists(t, notes, "a person allowed it")

	c.script("many", "d=$(printf 'd%.0s' $(seq 200)); for i in $(seq 12); do mkdir $d; cd $d; done; for i in $(seq 300); do echo x >$i.pem; done\n")
	status, said = c.run(nil, "./many")
	require.Equal(t, 124, status, said)
	require.NotContains(t, said, "could not be reported")
	require.EqualValues(t, "failed", c.newest().Result.Status, "however much it planted")

	unconfined := c.command("run", "--client", c.client, "--unconfined", "--timeout", "1s", "--", "./frob")
	said2, _ := unconfined.CombinedOutput()
	require.Equal(t, 11, unconfined.ProcessState.ExitCode(), string(said2))
}

// With the mode off, and from a token whose word does not count, the same program asks.
func TestFlow_RunConfinesNothingByDefault(t *testing.T) {
	t.Parallel()
	c := newConfiner(t, "    classifier: {enabled: false}\n")
	c.script("frob", "exit 0\n")
	status, said := c.run([]string{"--timeout", "1s"}, "./frob")
	require.Equal(t, 11, status, said)
	require.Nil(t, c.newest().Confined)
}

// An allow that says confined is not believed by a program that sees that word taken out on the way.
func TestFlow_ConfinedIsInTheReceipt(t *testing.T) {
	t.Parallel()
	c := newConfiner(t, confineUnsure)
	ctx, cancel := context.WithTimeout(c.ctx(), time.Minute)
	defer cancel()
	params := []byte(`{"argv":["./x"],"workdir":"` + c.ws + `"}`)
	a, err := c.agent().Create(ctx, api.CreateRequest{ToolName: "exec", Params: params, Context: &api.Context{Confine: []string{"v1"}}}, api.CreateOptions{})
	require.NoError(t, err)
	_, err = c.agent().Claim(ctx, a.ID, api.ClaimRequest{ClaimID: "x"})
	requireProblem(t, err, "not_claimable")
	claim, err := c.agent().Claim(ctx, a.ID, api.ClaimRequest{ClaimID: "x", Confine: []string{"v1"}})
	require.NoError(t, err)
	keys, _ := c.deskKeys()
	believed := func(confined *approval.Confined) error {
		return proof.Believe(claim.Receipt, c.pins(keys), proof.Asked{ToolName: "exec", Params: params, ClaimID: "x", Confined: confined}, time.Now())
	}
	require.NoError(t, believed((*approval.Confined)(claim.Confined)))
	require.ErrorContains(t, believed(nil), "confined")
	wider := approval.Confined{Profile: "v1", Writable: []string{"/"}, Readonly: []string{}}
	require.ErrorContains(t, believed(&wider), "confined")
}

// No command of run runs unconfined beside a confined one: it waits. While one runs unconfined, or has left processes, no
// other is confined, and it asks.
func TestK1_RunStartsNothingBesideAConfinedCommand(t *testing.T) {
	t.Parallel()
	c := newConfiner(t, confineUnsure)
	c.script("frob", "cat; echo of frob >&2\n")
	c.script("other", "exit 0\n")
	started := func(argv ...string) (cmd *exec.Cmd, stdin io.Closer, said *bufio.Scanner) {
		t.Helper()
		cmd = c.command(append([]string{"run", "--client", c.client, "--"}, argv...)...)
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		cmd.Stderr = cmd.Stdout
		require.NoError(t, cmd.Start())
		_, err = io.WriteString(stdin.(io.Writer), "started\n")
		require.NoError(t, err)
		return cmd, stdin, bufio.NewScanner(out)
	}
	says := func(said *bufio.Scanner, text string) {
		t.Helper()
		for said.Scan() {
			if strings.Contains(said.Text(), text) {
				return
			}
		}
		t.Fatal("it did not say: " + text)
	}
	confined, stdin, said := started("./frob")
	says(said, "started")
	require.NotNil(t, c.newest().Confined)
	moves, _, moved := started("mv", "other", "another")
	says(moved, "waiting until no confined command runs")
	require.FileExists(t, filepath.Join(c.ws, "other"))
	require.NoError(t, stdin.Close())
	says(said, "of frob")
	require.NoError(t, confined.Wait())
	require.NoError(t, moves.Wait())
	require.FileExists(t, filepath.Join(c.ws, "another"))

	asks := func() {
		t.Helper()
		status, said := c.run([]string{"--timeout", "1s"}, "./another")
		require.Equal(t, 11, status, said)
		require.Nil(t, c.newest().Confined)
	}
	reads, stdin, said := started("cat")
	says(said, "started")
	asks()
	require.NoError(t, stdin.Close())
	require.NoError(t, reads.Wait())
	status, text := c.run(nil, "./another")
	require.Zero(t, status, text)
	require.NotNil(t, c.newest().Confined)

	leaves, stdin, said := started("sh", "-c", "exec 3<&0; cat <&3 & echo left")
	asked := c.onePending()
	_, err := c.operator().Resolve(c.ctx(), asked.ID, api.ResolveRequest{Decision: "allow-once"})
	require.NoError(t, err)
	for both := []string{"left", "started"}; len(both) > 0; { // whichever the machine is quicker with
		require.True(t, said.Scan(), both)
		both = slices.DeleteFunc(both, func(text string) bool { return strings.Contains(said.Text(), text) })
	}
	_, err = leaves.Process.Wait()
	require.NoError(t, err)
	asks()
	require.NoError(t, stdin.Close())
}
