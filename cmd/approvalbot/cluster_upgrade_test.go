package main

import (
	"context"
	"encoding/json"
	"fmt"
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
)

// steps of a schema that is yet to come: one that older programs can live with and
// one that they cannot.
const (
	safeStep   = "-- +goose Up\nALTER TABLE approvals ADD COLUMN upgraded TEXT;\n"
	unsafeStep = "-- approvalbot: unsafe\n-- +goose Up\nALTER TABLE approvals DROP COLUMN upgraded;\n"
)

// aheadBinary builds the program as it would be with further steps of the schema.
func aheadBinary(t *testing.T, steps ...string) string {
	t.Helper()
	have, err := os.ReadDir("../../internal/store/migrations")
	require.NoError(t, err)
	newest, more := 0, map[string]string{}
	_, err = fmt.Sscanf(have[len(have)-1].Name(), "%d_", &newest)
	require.NoError(t, err)
	for i, step := range steps {
		more[fmt.Sprintf("internal/store/migrations/%05d_ahead.sql", newest+i+1)] = step
	}
	return otherBinary(t, fmt.Sprintf("v%d", 1+len(steps)), more)
}

// otherBinary builds the program as it would be with further files, which are laid
// over the sources for this build alone.
func otherBinary(t *testing.T, version string, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir, replace := t.TempDir(), map[string]string{}
	for name, text := range files {
		laid := filepath.Join(dir, filepath.Base(name))
		replace[filepath.Join(root, name)] = laid
		require.NoError(t, os.WriteFile(laid, []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "approvalbot")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	require.NoError(t, build(bin, "-overlay", file, "-ldflags", "-s -w -X main.version="+version))
	return bin
}

// refuses runs the program on the instances' database, which it must not take.
func (c *chaos) refuses(bin string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "serve", "--config", c.config())
	cmd.Env = append(os.Environ(), "APPROVALBOT_CFG__STORE__URL="+c.database)
	out, err := cmd.CombinedOutput()
	require.NoError(c.t, ctx.Err(), "it serves: %s", out)
	require.Error(c.t, err)
	return string(out)
}

// decidedAcross takes a call from the question at one instance over a tap to the
// claim at another.
func (c *chaos) decidedAcross(asks, claims *process, id string) {
	c.t.Helper()
	a := c.askAt(asks, id, 0)
	card, err := c.seen.card(c.t.Context(), a.Code)
	require.NoError(c.t, err)
	c.known(asks, a, card.id)
	require.Equal(c.t, "Allowed. It may run once, within 5 minutes.", c.told(c.people[0].TapData(c.chats[0], messageNumber(card.id), "/approve "+a.Code)))
	require.Equal(c.t, api.Approved, c.ends(claims, a).Status)
	var claim api.Claim
	c.persist(func() (err error) {
		claim, err = claims.client(agentSecret).Claim(c.t.Context(), a.ID, api.ClaimRequest{})
		return err
	})
	require.JSONEq(c.t, fmt.Sprintf(`{"for":%q}`, id), string(claim.Params))
}

// known waits until the desks know that a message is their card. They learn that after people see it,
// and count no tap on it before.
func (c *chaos) known(at *process, a api.Approval, message string) {
	c.t.Helper()
	operator := at.client(operatorSecret)
	require.Eventually(c.t, func() bool {
		got, err := operator.Get(c.t.Context(), a.Code, 0)
		return err == nil && slices.ContainsFunc(got.Deliveries, func(d api.Delivery) bool { return d.MessageID == message })
	}, patient, 5*time.Millisecond)
}

// An upgrade, program by program: where the schema's next step is safe, the old
// and the new serve side by side, and the old one starts again; where it is not, the new
// waits until no older one runs, and no older one starts any more.
func TestCluster_UpgradeToAnotherSchema(t *testing.T) {
	t.Parallel()
	safe, unsafe := aheadBinary(t, safeStep), aheadBinary(t, safeStep, unsafeStep)
	c := newChaos(t, chaosPlan{chats: 1, desks: 1, settle: patient})
	old := c.desks[0]
	c.decidedAcross(old, old, "job-1")

	next := newProcess(t, "next", safe, c.config(), c.database)
	c.decidedAcross(old, next, "job-2")
	c.decidedAcross(next, old, "job-3")

	require.Contains(t, c.refuses(unsafe), "must not be set up while older programs run, but instance ")
	c.decidedAcross(old, next, "job-4") // the refusal has left everything as it was
	old.end(syscall.SIGKILL)
	old.start() // as its supervisor does while instances roll
	require.NoError(t, old.await(t.Context()), old.tail())
	c.decidedAcross(old, next, "job-again")
	old.end(syscall.SIGTERM)
	require.Eventually(t, func() bool { // the one that was killed counts as running for ten seconds
		return strings.Contains(c.refuses(unsafe), `(version "v2") is older: stop all instances`)
	}, patient, 100*time.Millisecond)
	c.decidedAcross(next, next, "job-5")

	waiting := c.askAt(next, "job-6", 0)
	next.end(syscall.SIGTERM)
	last := newProcess(t, "last", unsafe, c.config(), c.database)
	c.decidedAcross(last, last, "job-7")
	require.Contains(t, c.refuses(safe), "run a newer version of approvalbot, or restore the backup made before the upgrade")
	require.Contains(t, c.refuses(old.bin), "run a newer version")
	card, err := c.seen.card(t.Context(), waiting.Code)
	require.NoError(t, err)
	require.Equal(t, denied, c.told(c.people[1].TapData(c.chats[0], messageNumber(card.id), "/deny "+waiting.Code)))
	report, err := last.client(operatorSecret).VerifyAudit(t.Context())
	require.NoError(t, err)
	require.True(t, report.OK, report.Problem)
}

// judges waits until an instance is ready, or says that it waits to be replaced.
func (p *process) judges(yes bool) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		r, err := p.client("").Ready(p.t.Context())
		return err == nil && r.Ready == yes && strings.Contains(r.Policy, "Replace this instance") != yes
	}, patient, 20*time.Millisecond, p.tail())
}

// A rolling update to a program that judges otherwise, one instance after the other,
// each of which is to be ready before an older one goes. The new one is ready at once,
// and from then on only it judges, also when an old one crashes and starts again, and
// when the new one does and the old one is alone for that time.
func TestCluster_RollingUpdateToAnotherPolicy(t *testing.T) {
	t.Parallel()
	bin := otherBinary(t, "v2", map[string]string{"internal/policy/otherwise.go": "package policy\n\nconst judgesOtherwise = true\n",
		"internal/policy/build.sum": "of other sources\n"})
	c := newChaos(t, chaosPlan{chats: 1, desks: 1, settle: patient})
	old := c.desks[0]
	c.decidedAcross(old, old, "job-1")
	waiting := c.askAt(old, "job-2", 0)

	next := newProcess(t, "next", bin, c.config(), c.database)
	old.judges(false)
	_, err := old.client(agentSecret).Create(t.Context(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`)}, api.CreateOptions{})
	requireProblem(t, err, "unavailable")
	card, err := c.seen.card(t.Context(), waiting.Code)
	require.NoError(t, err)
	c.people[0].TapData(c.chats[0], messageNumber(card.id), "/approve "+waiting.Code) // whoever takes it in, the new one counts it
	require.Equal(t, api.Approved, c.ends(old, waiting).Status, "who asked the old one is answered there")
	c.decidedAcross(next, next, "job-3")

	old.end(syscall.SIGKILL)
	old.start()
	old.judges(false)
	next.judges(true)
	next.end(syscall.SIGKILL)
	require.Eventually(t, func() bool {
		_, err := old.client(operatorSecret).List(t.Context(), api.Filter{})
		return err == nil
	}, patient, 20*time.Millisecond)
	old.judges(false)
	next.start()
	require.NoError(t, next.await(t.Context()))
	c.decidedAcross(next, next, "job-4")

	// The operator goes back: one of the old ones is told so, and the new one waits.
	_, err = old.client(operatorSecret).Reload(t.Context())
	require.NoError(t, err)
	old.judges(true)
	next.judges(false)
	next.end(syscall.SIGTERM)
	c.decidedAcross(old, old, "job-5")
}
