package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// steps of a schema that is yet to come: one that older programs can live with and
// one that they cannot.
const (
	safeStep   = "-- +goose Up\nALTER TABLE approvals ADD COLUMN upgraded TEXT;\n"
	unsafeStep = "-- approvalbot: unsafe\n-- +goose Up\nALTER TABLE approvals DROP COLUMN upgraded;\n"
)

// aheadBinary builds the program as it would be with further steps of the schema,
// which are laid over the sources for this build alone.
func aheadBinary(t *testing.T, steps ...string) string {
	t.Helper()
	migrations, err := filepath.Abs("../../store/migrations")
	require.NoError(t, err)
	have, err := os.ReadDir(migrations)
	require.NoError(t, err)
	dir, replace := t.TempDir(), map[string]string{}
	for i, step := range steps {
		name := fmt.Sprintf("%05d_ahead.sql", len(have)+i+1)
		replace[filepath.Join(migrations, name)] = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(step), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "approvalbot")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	out, err := exec.Command("go", "build", "-tags", "faults", "-overlay", file, "-ldflags", fmt.Sprintf("-X main.version=v%d", 1+len(steps)), "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
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
	require.Equal(c.t, "Allowed once by alice.", c.told(c.people[0].TapData(c.chats[0], messageNumber(card.id), "/approve "+a.Code)))
	require.Equal(c.t, api.Approved, c.ends(claims, a).Status)
	claim, err := claims.client(agentSecret).Claim(c.t.Context(), a.ID, api.ClaimRequest{})
	require.NoError(c.t, err)
	require.JSONEq(c.t, `{}`, string(claim.Params))
}

// An upgrade, program by program: where the schema's next step is safe, the old
// and the new serve side by side; where it is not, the new waits until no older
// one runs. A program never starts on a schema that it does not know.
func TestCluster_UpgradeToAnotherSchema(t *testing.T) {
	safe, unsafe := aheadBinary(t, safeStep), aheadBinary(t, safeStep, unsafeStep)
	c := newChaos(t, chaosPlan{chats: 1, desks: 1, settle: patient})
	old := c.desks[0]
	c.decidedAcross(old, old, "job-1")

	next := newProcess(t, "next", safe, c.config(), c.database)
	c.decidedAcross(old, next, "job-2")
	c.decidedAcross(next, old, "job-3")

	require.Contains(t, c.refuses(unsafe), "must not be set up while older programs run, and instance ")
	c.decidedAcross(old, next, "job-4") // the refusal has left everything as it was
	old.end(syscall.SIGTERM)
	require.Contains(t, c.refuses(old.bin), "run the newer program, or restore the backup made before it")
	require.Contains(t, c.refuses(unsafe), `(version "v2") does: stop all instances`)
	c.decidedAcross(next, next, "job-5")

	waiting := c.askAt(next, "job-6", 0)
	next.end(syscall.SIGTERM)
	last := newProcess(t, "last", unsafe, c.config(), c.database)
	c.decidedAcross(last, last, "job-7")
	require.Contains(t, c.refuses(safe), "run the newer program")
	card, err := c.seen.card(t.Context(), waiting.Code)
	require.NoError(t, err)
	require.Equal(t, "Denied.", c.told(c.people[1].TapData(c.chats[0], messageNumber(card.id), "/deny "+waiting.Code)))
	report, err := last.client(operatorSecret).VerifyAudit(t.Context())
	require.NoError(t, err)
	require.True(t, report.OK, report.Problem)
}
