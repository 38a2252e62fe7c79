//go:build !race && linux && amd64

package costs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write costs.tsv anew")

// Nothing costs more than costs.tsv says.
func TestCosts(t *testing.T) {
	measured := slices.Concat(ofCalls(t), ofProgram(t))
	if *update {
		require.NoError(t, os.WriteFile("costs.tsv", []byte(write(measured)), 0o644))
	}
	text, err := os.ReadFile("costs.tsv")
	require.NoError(t, err)
	allowed, err := read(string(text))
	require.NoError(t, err)
	t.Log("\n" + write(measured))
	require.Empty(t, grew(allowed, measured), "make it cheaper, or run make costs and say in the commit why it costs more")
}

// By how many per cent a cost may grow: what runs beside the measured call adds a little; what the
// kernel has mapped when a desk is ready differs by two or three from start to start; a stack doubles or does not.
const (
	exact  = 5
	loose  = 10
	coarse = 30
)

func ofCalls(t *testing.T) []cost {
	d, chats := newDesk(t, false), newDesk(t, true)
	evaluated := d.measure(200, func(int) { d.post("/v1/evaluate", readCall) })
	pipeline := d.measure(200, func(int) { d.post("/v1/evaluate", pipelineCall) })
	batch := d.measure(10, func(int) { d.post("/v1/evaluate", `{"calls":[`+strings.Repeat(readCall+",", 199)+readCall+`]}`) })
	settled := d.measure(200, func(int) { d.post("/v1/approvals", readCall) })
	resolved := d.measure(50, func(n int) { d.resolveTrip(n) })
	waiting := d.waitingStack()
	card := chats.measure(30, func(n int) { chats.cardTrip(n) })
	return []cost{
		{"evaluate.allocations", evaluated.allocations, exact, "of POST /v1/evaluate for a read, in the handler"},
		{"evaluate.pipeline.allocations", pipeline.allocations, exact, "the same for a line of 130 bytes"},
		{"batch.allocations", batch.allocations / 200, exact, "of POST /v1/evaluate with 200 calls, for each"},
		{"settled.allocations", settled.allocations, exact, "of POST /v1/approvals for a call that policy allows"},
		{"settled.statements", settled.statements, exact, "SQL statements of the same"},
		{"resolved.allocations", resolved.allocations, exact, "asked, resolved through the API, asker woken"},
		{"resolved.statements", resolved.statements, exact, "SQL statements of the same"},
		{"waiting.stack", waiting, coarse, "KiB of stack for each asker that waits over HTTP"},
		{"card.allocations", card.allocations, exact, "asked, card in a chat, tapped, asker woken, with the fake Telegram's own"},
		{"card.statements", card.statements, exact, "SQL statements of the same"},
	}
}

// ofProgram builds the program and looks at it. The linker is spared if nothing has changed.
func ofProgram(t *testing.T) []cost {
	bin, err := filepath.Abs("../../bin/costs")
	require.NoError(t, err)
	build := exec.Command("go", append(append([]string{"build", "-buildvcs=false"}, cold(t)...),
		"-ldflags=-s -w", "-o", bin, "../../cmd/approvalbot")...)
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	file, err := os.Stat(bin)
	require.NoError(t, err)
	bytes, allocations := beforeMain(t, bin)
	return []cost{
		{"program.bytes", float64(file.Size()), exact, "of the program, stripped"},
		{"init.allocations", allocations, exact, "before main"},
		{"init.bytes", bytes, exact, "the same in bytes"},
		{"ready.anonymous", readyMemory(t, bin), loose, "KiB of anonymous memory of a desk that is ready"},
	}
}

// cold are the flags of packages that are compiled without inlining, as the Makefile has them.
func cold(t *testing.T) []string {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	_, flags, found := strings.Cut(string(makefile), "\nCOLD    := ")
	require.True(t, found)
	flags, _, _ = strings.Cut(flags, "\n")
	return strings.Fields(flags)
}

// What is released and what is in the image is the program whose size is kept.
func TestColdPackages_AreTheSameEverywhere(t *testing.T) {
	image, err := os.ReadFile("../../deploy/Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(image), " "+strings.Join(cold(t), " ")+" ")
	release, err := os.ReadFile("../release/main.go")
	require.NoError(t, err)
	require.Contains(t, string(release), `"`+strings.Join(cold(t), `", "`)+`",`)
}

// beforeMain gives what all packages allocate before main.
func beforeMain(t *testing.T, bin string) (bytes, allocations float64) {
	cmd := exec.Command(bin, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for line := range strings.Lines(string(out)) {
		var name string
		var at, took, size, count float64
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %f bytes, %f allocs", &name, &at, &took, &size, &count); err == nil {
			bytes, allocations = bytes+size, allocations+count
		}
	}
	require.NotZero(t, bytes, "the trace was read: %s", out)
	return bytes, allocations
}

// anonymous gives the KiB of a process that no file backs.
func anonymous(t *testing.T, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			require.NoError(t, err)
			return kib
		}
	}
	require.Fail(t, "no RssAnon in /proc")
	return 0
}
