package watch

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
)

// The time left is counted down above the prompt, without a word of what is being
// typed lost; without colours where nobody wants them.
func TestWatch_CountsDownOnATerminal(t *testing.T) {
	var out bytes.Buffer
	w := &watcher{App: &app.App{Stdout: &out, Env: config.Environ{"NO_COLOR": "1"}}, counts: true}
	soon := api.Approval{ExpiresAtMs: time.Now().Add(90 * time.Second).UnixMilli()}
	w.left(soon, false)
	w.left(soon, true)
	require.Regexp(t, "^1m(30|[12]?[0-9])s left\n\x1b7\x1b\\[1A\r\x1b\\[2K1m(30|[12]?[0-9])s left\x1b8$", out.String())
	w.left(api.Approval{}, false)
	require.True(t, strings.HasSuffix(out.String(), "0s left\n"))
	out.Reset()
	(&watcher{App: &app.App{Stdout: &out}}).left(soon, false)
	require.Empty(t, out.String(), "not on what is no terminal")
}

func TestWatch_WritesASCIIWhereTheTerminalTakesNoMore(t *testing.T) {
	var out bytes.Buffer
	plain := &app.App{Stdout: &out, Env: config.Environ{"LC_ALL": "C", "LANG": "en_US.UTF-8"}}
	w := &watcher{App: &app.App{Stdout: plain.Plain()}}
	w.show(api.Approval{ToolName: "mail.send", ParamsSummary: "to: zoë", RiskClass: "R3", ArgsFingerprint: "ab"})
	for _, b := range out.Bytes() {
		require.Less(t, b, byte(0x80))
	}
	require.Contains(t, out.String(), "asks for mail.send\n| to: zo\\u{EB}\n")
}
