package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
)

// Two kinds of variables do not make a call a different one: they differ between
// windows and logins of one person. Any other variable may change what a program
// does, to what, or as which user, so it counts: even PATH, HOME, SSH_AUTH_SOCK
// (whose keys) and APPROVALBOT_SERVER.

// described variables only describe. They are handed on, and do not count if their
// values are plain: a locale, for one, may also be the path of a file.
var described = []string{
	// the terminal
	"TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLORTERM", "COLORFGBG", "COLUMNS", "LINES",
	"VTE_VERSION", "KONSOLE_VERSION", "ITERM_SESSION_ID", "ITERM_PROFILE", "LC_TERMINAL", "LC_TERMINAL_VERSION",
	"WT_SESSION", "WT_PROFILE_ID", "VSCODE_PID", "VSCODE_NONCE", "SHLVL",
	// the language; sshd takes any LC_ name, so each is named
	"LANG", "LANGUAGE", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT",
	"LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
	// the login, and how it started the program
	"XDG_SESSION_ID", "SSH_CLIENT", "SSH_CONNECTION", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID",
	"DESKTOP_STARTUP_ID", "XDG_ACTIVATION_TOKEN", "GIO_LAUNCHED_DESKTOP_FILE_PID", "XPC_SERVICE_NAME",
	// the agent's session
	"CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CODEX_THREAD_ID",
}

// withheld variables say in which window or directory the caller is. They are not
// handed on: tmux, for one, acts on the window that they name, and cd - goes there.
var withheld = []string{
	"TMUX", "TMUX_PANE", "STY", "WINDOWID", "SSH_TTY", "SHELL_SESSION_ID", "SESSION_MANAGER",
	"GNOME_TERMINAL_SCREEN", "GNOME_TERMINAL_SERVICE",
	"KONSOLE_DBUS_SERVICE", "KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW",
	"KITTY_WINDOW_ID", "KITTY_PID", "KITTY_LISTEN_ON", "WEZTERM_PANE", "WEZTERM_UNIX_SOCKET",
	"ALACRITTY_WINDOW_ID", "ALACRITTY_SOCKET", "PWD", "OLDPWD", "_",
}

// cookie is the file that opens the display that DISPLAY names. Desktops make another
// one at each login.
const cookie = "XAUTHORITY"

var plainValue = lazy.Pattern(`^[A-Za-z0-9._:;@ -]*$`)

// Environment is what a program is started with in a directory: environ (NAME=value)
// without what is withheld, the last value of each name, sorted.
func Environment(environ []string, dir string) []string {
	last := map[string]string{"PWD": "PWD=" + dir}
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(withheld, name) {
			last[name] = v
		}
	}
	return slices.Sorted(maps.Values(last))
}

// EnvironmentHash is a call's bind.envHash: 128 bits, in hex, of all variables of an
// Environment that count, and of what else makes it another call. The desk stores it
// and people see it, so it is keyed with the asking token: without the token a short
// secret of the environment cannot be found in it by trying.
func EnvironmentHash(token string, environment []string, more ...string) string {
	counted := slices.DeleteFunc(slices.Clone(environment), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		return name == cookie || slices.Contains(described, name) && plainValue.MatchString(value)
	})
	sum := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(sum, "%d", len(counted))
	for _, part := range append(counted, more...) {
		fmt.Fprintf(sum, ",%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
