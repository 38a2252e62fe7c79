package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client file that is another user's is refused: it would name that user's desk.
func TestAdversary_N7_AClientFileOfAnotherUser(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	require.NoError(t, err)
	require.True(t, ownedBy(info, os.Geteuid()))
	require.False(t, ownedBy(info, os.Geteuid()+1))
	if os.Geteuid() != 0 {
		return
	}
	path := filepath.Join(t.TempDir(), "client.yaml")
	require.NoError(t, os.WriteFile(path, []byte("token: x\n"), 0o600))
	require.NoError(t, os.Chown(path, 65534, -1))
	_, err = OpenClientFile(path)
	require.ErrorContains(t, err, "belongs to another user")
}

// A client file gets what follows its desk, and keeps all else byte by byte; one in which
// nothing can be replaced stays as it is.
func TestRenewClientFile(t *testing.T) {
	keys := []DeskKey{{"-a", "AA"}, {"b", "BB"}}
	const written = "deskKeys:\n  - {id: \"-a\", publicKey: \"AA\"}\n  - {id: \"b\", publicKey: \"BB\"}\n"
	for name, c := range map[string]struct {
		set        ClientDesk
		was, is    string
		unreplaced bool
	}{
		"one of 0.1.0":     {set: ClientDesk{DeskKeys: keys}, was: "# mine\nserver: x # y\ntoken: t", is: "# mine\nserver: x # y\ntoken: t\n" + written},
		"all of it":        {set: ClientDesk{"http://h", "/s.sock", keys, "a"}, was: "token: t\n", is: "token: t\nserver: http://h\nsocket: \"/s.sock\"\nowner: \"a\"\n" + written},
		"older keys":       {set: ClientDesk{DeskKeys: keys}, was: "deskKeys:\n- {id: o, publicKey: O}\n- id: p\n  publicKey: P\ntoken: t # t\n", is: written + "token: t # t\n"},
		"keys on one line": {set: ClientDesk{DeskKeys: keys}, was: "deskKeys: [{id: o, publicKey: O}]\n\n# end\ntoken: t\n", is: written + "\n# end\ntoken: t\n"},
		"another server":   {set: ClientDesk{Server: "http://h"}, was: "server: x\nplainTCP: true\ntoken: t\n", is: "server: http://h\nplainTCP: true\ntoken: t\n"},
		"the same":         {set: ClientDesk{"x", "/s", keys[:1], "a"}, was: "{server: x, token: t, owner: a, socket: /s, deskKeys: [{id: -a, publicKey: AA}]}\n"},
		"a flow":           {set: ClientDesk{DeskKeys: keys}, was: "{server: x, token: t}\n", unreplaced: true},
		"a line between":   {set: ClientDesk{DeskKeys: keys}, was: "token: t\ndeskKeys:\n  - {id: o, publicKey: O}\n\n  - {id: p, publicKey: P}\n", unreplaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, link := filepath.Join(dir, "client.yaml"), filepath.Join(t.TempDir(), "link.yaml")
			require.NoError(t, os.WriteFile(path, []byte(c.was), 0o600))
			require.NoError(t, os.Symlink(path, link))
			wrote, err := RenewClientFile(link, c.set)
			if c.unreplaced {
				require.ErrorContains(t, err, "by hand")
				require.NotContains(t, err.Error(), "token")
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, c.is != "", wrote)
			if c.is == "" {
				c.is = c.was
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, c.is, string(text))
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing is left behind")
		})
	}
}

// A client file says no more than it can mean.
func TestAdversary_T6_AClientFileThatKnowsNoDesk(t *testing.T) {
	for text, why := range map[string]string{
		"deskKeys: []\n":                        "deskKeys",
		"socket: desk.sock\n":                   "absolute",
		"deskKey: x\n":                          "unknown key",
		"deskKeys: [{id: a, secret: b}]\n":      "unknown key",
		"plainTCP: perhaps\n":                   "plainTCP",
		"plaintcp: true\n":                      "unknown key",
		"deskKeys: [{id: a}]\ndeskKeys: [{}]\n": "deskKeys",
	} {
		path := filepath.Join(t.TempDir(), "client.yaml")
		require.NoError(t, os.WriteFile(path, []byte("token: t\n"+text), 0o600))
		_, err := OpenClientFile(path)
		require.ErrorContains(t, err, why, text)
	}
}
