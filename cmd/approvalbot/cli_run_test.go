package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
)

// output is what one command line left.
type output struct {
	code           int
	stdout, stderr string
}

// runCLI carries out one command line against a desk.
func runCLI(t *testing.T, d *fakeDesk, stdin string, args ...string) output {
	t.Helper()
	return runCLIWith(t.Context(), d, strings.NewReader(stdin), args...)
}

func runCLIWith(ctx context.Context, d *fakeDesk, stdin io.Reader, args ...string) output {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, []string{"APPROVALBOT_SERVER=" + d.URL, "APPROVALBOT_TOKEN=t"}, stdin, &stdout, &stderr)
	return output{code, stdout.String(), stderr.String()}
}

// started runs a command line in the background; its output may be read meanwhile.
type started struct {
	cancel context.CancelFunc
	stdin  *io.PipeWriter
	out    *safeBuffer
	done   chan int
}

func start(t *testing.T, d *fakeDesk, args ...string) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, stdin := io.Pipe()
	s := &started{cancel: cancel, stdin: stdin, out: &safeBuffer{}, done: make(chan int, 1)}
	go func() {
		s.done <- run(ctx, args, []string{"APPROVALBOT_SERVER=" + d.URL, "APPROVALBOT_TOKEN=t"}, in, s.out, s.out)
	}()
	t.Cleanup(func() { cancel(); stdin.Close() })
	return s
}

// says waits until the output holds the text.
func (s *started) says(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(s.out.String(), text) }, patient, 5*time.Millisecond, "never said %q", text)
}

// waitsAt waits until the desk is asked to wait for the end.
func (s *started) waitsAt(t *testing.T, d *fakeDesk) {
	t.Helper()
	require.Eventually(t, func() bool { return d.sees("?wait=") }, patient, 5*time.Millisecond)
}

// types sends a line.
func (s *started) types(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(s.stdin, line+"\n")
	require.NoError(t, err)
}

// ends waits for the end and gives the exit status.
func (s *started) ends(t *testing.T) int {
	t.Helper()
	select {
	case code := <-s.done:
		return code
	case <-time.After(patient):
		require.Fail(t, "it does not end", s.out.String())
		return -1
	}
}

// Interrupting run while it waits withdraws the request, and nothing runs.
func TestRunInterruptedWithdraws(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.create = "pending"
	ran := filepath.Join(t.TempDir(), "ran")
	s := start(t, d, "run", "--", "touch", ran)
	s.says(t, "approvalbot: waiting for approval 7KQ2M5")
	s.cancel()
	require.Equal(t, app.ExitWithdrawn, s.ends(t))
	require.Contains(t, s.out.String(), "approvalbot: not run: interrupted; the request is withdrawn")
	require.Contains(t, d.requests(), "/withdraw")
	require.NoFileExists(t, ran)
}

// Nor does one whose answer is on its way then stay open for people.
func TestRunInterruptedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.create = "pending"
	interrupt := make(chan context.CancelFunc, 1)
	d.meanwhile = func() { (<-interrupt)() }
	s := start(t, d, "run", "--", "true")
	interrupt <- s.cancel
	require.Equal(t, app.ExitWithdrawn, s.ends(t))
	require.Contains(t, d.requests(), "/withdraw")
}

// An approval that comes while run is being interrupted runs nothing.
func TestRunInterruptedTooLate(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.create = "pending"
	ran := filepath.Join(t.TempDir(), "ran")
	s := start(t, d, "run", "--", "touch", ran)
	s.waitsAt(t, d)
	d.mu.Lock()
	d.problem = "already_resolved"
	d.mu.Unlock()
	s.cancel()
	require.Equal(t, app.ExitError, s.ends(t))
	require.Contains(t, s.out.String(), "not run: interrupted; the request could not be withdrawn")
	require.NoFileExists(t, ran)
}

// A desk that goes away while run waits, and comes back, is waited for.
func TestRunRidesOverARestart(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.create = "pending"
	ran := filepath.Join(t.TempDir(), "ran")
	s := start(t, d, "run", "--", "touch", ran)
	s.waitsAt(t, d)
	require.NoError(t, s.stdin.Close())
	d.CloseClientConnections()
	d.end("approved", "allow-once", "person:alice", "")
	require.Equal(t, app.ExitAllowed, s.ends(t))
	require.FileExists(t, ran)
	require.Contains(t, d.requests(), `/result {"status":"succeeded","exitCode":0}`)
}

// What JSON cannot carry unchanged is not asked for.
func TestRunRefusesWhatCannotBeShown(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	out := runCLI(t, d, "", "run", "--", "echo", "\xff")
	require.Equal(t, app.ExitError, out.code)
	require.Contains(t, out.stderr, "not run: the command or its working directory is not UTF-8 text")
	require.Empty(t, strings.TrimSpace(d.requests()))
}

// The very argv is asked for, its working directory and environment bound, and the
// claim is for the same.
func TestRunAsksForTheArgv(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	dir, err := os.Getwd()
	require.NoError(t, err)
	out := runCLI(t, d, "", "run", "--session", "s", "--justification", "because <b>", "--", "sh", "-c", "exit 3", "a  b", "")
	require.Equal(t, 3, out.code)
	params := `"params":{"argv":["sh","-c","exit 3","a  b",""],"workdir":"` + dir + `"}`
	bind := `"bind":{"workdir":"` + dir + `","envHash":"` + regexp.MustCompile(`[0-9a-f]{32}`).FindString(d.requests()) + `"}`
	require.Contains(t, d.requests(), `"toolName":"exec",`+params+`,"sessionKey":"s","justification":"because <b>","context":{"untracked":{}},`+bind)
	require.Contains(t, d.requests(), `/claim {`+params+`,`+bind+`,"claimId":"`)
	require.Contains(t, d.requests(), `/result {"status":"failed","exitCode":3}`)
}
