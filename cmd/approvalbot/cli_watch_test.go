package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWatchApproves(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.approval["card"].(map[string]any)["claims"] = []string{"claimed: “weekly\x1b[2J clean-up”"}
	s := start(t, d, "watch")
	s.says(t, "main-agent asks to run")
	s.says(t, "│ rm -rf build")
	s.says(t, "External change or irreversible (R3): deletes a directory")
	s.says(t, `💬 claimed: “weekly\u{1B}[2J clean-up”`)
	s.says(t, "Approve? [y]es / [n]o / s[k]ip:")
	s.types(t, "s") // session is not offered
	s.types(t, "")
	s.types(t, "Yes ")
	s.says(t, "7KQ2M5: approved (allow-once) by alice")
	require.Contains(t, d.requests(), `/resolve {"decision":"allow-once"}`)
	require.NotContains(t, s.out.String(), "\x1b")
	s.cancel()
	require.Equal(t, 0, s.ends(t))
}

// What is listed is shown, also where it cannot be looked up by itself.
func TestWatchShowsWhatItCannotLookUp(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.cannotGet = "ambiguous_id"
	s := start(t, d, "watch")
	s.says(t, "Approve? [y]es")
	s.types(t, "y")
	s.says(t, "7KQ2M5: approved (allow-once) by alice")
	s.cancel()
	require.Equal(t, 0, s.ends(t))
}

func TestWatchDeniesWithAReason(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.approval["offers"] = []string{"allow-once", "allow-session", "allow-always", "deny"}
	d.approval["card"].(map[string]any)["wider"] = []string{"Allow session: “rsync -a” in the workspace; by agent main in this session.", "Always: exactly this call; by agent main."}
	s := start(t, d, "watch")
	s.says(t, "Approve? [y]es / [s]ession / [a]lways / [n]o / s[k]ip:")
	s.says(t, "Allow session: “rsync -a” in the workspace; by agent main in this session.")
	s.says(t, "Always: exactly this call; by agent main.")
	s.types(t, "n")
	s.says(t, "Reason (Enter for none):")
	s.types(t, "not today")
	s.says(t, "7KQ2M5: denied by alice: not today")
	require.Contains(t, d.requests(), `/resolve {"decision":"deny","reason":"not today"}`)
	s.cancel()
	require.Equal(t, 0, s.ends(t))
}

// What somebody else decides meanwhile is told, and the answer that was being
// typed is not taken for the next request.
func TestWatchTellsWhatOthersDecide(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	s := start(t, d, "watch")
	s.says(t, "Approve?")
	d.end("approved", "allow-once", "person:bob", "fine")
	s.says(t, "7KQ2M5: approved (allow-once) by bob: fine")
	s.says(t, "(Enter to go on)")
	d.mu.Lock()
	d.approval = newApproval("b2b2c3d4-5e6f-4a7b-8c9d-0e1f2a3b4c5d", "8AAAAA")
	d.mu.Unlock()
	s.types(t, "y") // meant for the first one
	s.says(t, "8AAAAA")
	require.NotContains(t, d.requests(), "/resolve")
	s.types(t, "skip")
	d.end("denied", "deny", "person:bob", "")
	s.says(t, "8AAAAA: denied by bob")
	s.cancel()
	require.Equal(t, 0, s.ends(t))
}

// Also where nothing waits for an answer.
func TestWatchEndsWithItsInputWhenNothingWaits(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.end("denied", "deny", "person:bob", "")
	s := start(t, d, "watch")
	s.says(t, "Watching for requests.")
	require.NoError(t, s.stdin.Close())
	require.Equal(t, 0, s.ends(t))
	require.NotContains(t, s.out.String(), "Approve?")
}

// Lines that were fed answer what comes later; the end comes after them.
func TestWatchUsesAllItsInput(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.end("denied", "deny", "person:bob", "")
	s := start(t, d, "watch")
	fed := make(chan error, 1)
	go func() {
		_, err := io.WriteString(s.stdin, "y\n")
		fed <- errors.Join(err, s.stdin.Close())
	}()
	s.says(t, "Watching for requests.")
	d.mu.Lock()
	d.approval = newApproval(deskID, "7KQ2M5")
	d.mu.Unlock()
	s.says(t, "7KQ2M5: approved (allow-once) by alice")
	require.NoError(t, <-fed)
	require.Equal(t, 0, s.ends(t))
}

func TestWatchEndsWithItsInput(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	out := runCLI(t, d, "", "watch")
	require.Equal(t, 0, out.code)
	require.Contains(t, out.stdout, "Approve?")
	require.NotContains(t, d.requests(), "/resolve")
}

// What is not offered is said; who may not decide is asked once, and then only shown
// what comes.
func TestWatchByWhoMayNotDecide(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.cannotVote = "forbidden"
	s := start(t, d, "watch")
	s.says(t, "Approve? [y]es / [n]o / s[k]ip:")
	s.types(t, "s")
	s.says(t, "That is not offered for this request.")
	s.types(t, "what?")
	s.says(t, "That key has no effect. The keys are:")
	s.says(t, "  y, yes      allow this call, once")
	s.says(t, "  k, skip     leave it to somebody else, or for later")
	require.NotContains(t, s.out.String(), "always", "what is not offered has no key")
	s.types(t, "y")
	s.says(t, "Not counted:")
	s.says(t, "no answer is asked for")
	d.mu.Lock()
	d.approval = newApproval("b2b2c3d4-5e6f-4a7b-8c9d-0e1f2a3b4c5d", "8AAAAA")
	d.mu.Unlock()
	s.says(t, "8AAAAA")
	d.end("denied", "deny", "person:bob", "")
	s.says(t, "8AAAAA: denied by bob")
	require.Equal(t, 3, strings.Count(s.out.String(), "Approve?"))
	s.cancel()
	require.Equal(t, 0, s.ends(t))
}
