package callback

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// snippets are programs around the page's functions. Each takes a secret, a
// header and a file with the body, and three more, and so on, and says y for
// those that the function accepts and n for the others.
var snippets = map[string]struct{ needs, file, before, after, run string }{
	"go": {needs: "go", file: "main.go", run: `go build -o verify main.go && exec ./verify "$@"`,
		before: `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"time"
)

`, after: `
func main() {
	for a := os.Args[1:]; len(a) > 0; a = a[3:] {
		body, err := os.ReadFile(a[2])
		print(map[bool]string{true: "y", false: "n"}[err == nil && verified(a[0], a[1], body)])
	}
}
`},
	"python": {needs: "python3", file: "main.py", run: `exec python3 main.py "$@"`, after: `
import sys
for i in range(1, len(sys.argv), 3):
    print("y" if verified(sys.argv[i], sys.argv[i + 1], open(sys.argv[i + 2], "rb").read()) else "n", end="")
`},
	"js": {needs: "node", file: "main.mjs", run: `exec node main.mjs "$@"`, after: `
import { readFileSync } from "node:fs";
for (let a = process.argv.slice(2); a.length; a = a.slice(3)) process.stdout.write(verified(a[0], a[1], readFileSync(a[2])) ? "y" : "n");
`},
	"sh": {needs: "openssl", file: "main.sh", run: `exec sh main.sh "$@"`, after: `
while [ $# -gt 0 ]; do
  if verified "$1" "$2" "$3"; then printf y; else printf n; fi
  shift 3
done
`},
}

func snippet(t *testing.T, language string) string {
	page, err := os.ReadFile("../../docs/callbacks.md")
	require.NoError(t, err)
	_, signed, _ := strings.Cut(string(page), "\n## Check the signature\n")
	_, rest, found := strings.Cut(signed, "\n```"+language+"\n")
	require.True(t, found, "the page has no %s", language)
	code, _, _ := strings.Cut(rest, "\n```\n")
	return code + "\n"
}

// Each snippet of the page accepts what the desk signs, and nothing else.
func TestTheSnippetsOfThePage(t *testing.T) {
	for language, s := range snippets {
		t.Run(language, func(t *testing.T) {
			for _, program := range []string{"sh", s.needs} {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s: not tested, install it", program)
				}
			}
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, s.file), []byte(s.before+snippet(t, language)+s.after), 0o600))
			args := []string{"-c", s.run, "sh"}
			cases := signatures()
			for i, c := range cases {
				body := fmt.Sprintf("body%d", i)
				require.NoError(t, os.WriteFile(filepath.Join(dir, body), c.body, 0o600))
				args = append(args, c.secret, c.header, body)
			}
			c := exec.Command("sh", args...)
			c.Dir = dir
			out, err := c.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Len(t, out, len(cases), string(out))
			for i, c := range cases {
				require.Equal(t, c.want, string(out[i]), c.name)
			}
		})
	}
}

type signature struct {
	want, name, secret, header string
	body                       []byte
}

func signatures() []signature {
	const secret = "callback-secret $HOME 'quoted'"
	body, now := []byte("{\"id\":\"ä\\u0000\",\"n\":1}\n\x00\xff\n\n"), time.Now()
	good := Sign(secret, now, body)
	stamp, sum, _ := strings.Cut(good, ",v1=")
	at := func(d time.Duration) string { return Sign(secret, now.Add(d), body) }
	return []signature{
		{"y", "as it came", secret, good, body},
		{"y", "an empty body", secret, Sign(secret, now, nil), nil},
		{"y", "a clock that is early", secret, at(-4 * time.Minute), body},
		{"y", "a clock that is late", secret, at(4 * time.Minute), body},
		{"n", "an old call", secret, at(-6 * time.Minute), body},
		{"n", "a call of the future", secret, at(6 * time.Minute), body},
		{"n", "another body", secret, good, append([]byte(" "), body...)},
		{"n", "a shorter body", secret, good, body[:len(body)-1]},
		{"n", "another secret", secret + "x", good, body},
		{"n", "another time", secret, strings.Split(at(-time.Minute), ",")[0] + ",v1=" + sum, body},
		{"n", "no secret", "", Sign("", now, body), body},
		{"n", "no header", secret, "", body},
		{"n", "no signature", secret, stamp, body},
		{"n", "an empty one", secret, stamp + ",v1=", body},
		{"n", "a short one", secret, good[:len(good)-2], body},
		{"n", "a long one", secret, good + "00", body},
		{"n", "a line more", secret, good + "\n", body},
		{"n", "a line before", secret, "x\n" + good, body},
		{"n", "no time", secret, "t=,v1=" + sum, body},
		{"n", "a time that is none", secret, "t=08x,v1=" + sum, body},
		{"n", "octal", secret, "t=0" + good[2:], body},
		{"n", "a calculation", secret, "t=1+1,v1=" + sum, body},
		{"n", "a very late time", secret, "t=99999999999999999999,v1=" + sum, body},
	}
}

// Without openssl the shell's function has nothing to compare, and refuses.
func TestTheShellSnippetFailsClosed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "body"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "openssl"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	c := exec.Command("sh", "-c", snippet(t, "sh")+`verified "$@"`, "sh", "secret", Sign("secret", time.Now(), nil), "body")
	c.Dir, c.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	require.Error(t, c.Run())
}
