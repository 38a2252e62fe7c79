package display

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// corpus reads pairs of a line and, indented, what becomes of it.
func corpus(t testing.TB) (pairs [][2]string) {
	data, err := os.ReadFile("testdata/redact.txt")
	require.NoError(t, err)
	for _, line := range strings.Split(string(data), "\n") {
		switch want, isWant := strings.CutPrefix(line, "\t"); {
		case isWant && want == "=":
			pairs[len(pairs)-1][1] = pairs[len(pairs)-1][0]
		case isWant:
			pairs[len(pairs)-1][1] = want
		case line != "" && !strings.HasPrefix(line, "#"):
			pairs = append(pairs, [2]string{line, ""})
		}
	}
	return pairs
}

func TestAdversary_S6_RedactionCorpus(t *testing.T) {
	pairs := corpus(t)
	require.Greater(t, len(pairs), 90)
	for _, pair := range pairs {
		t.Run("", func(t *testing.T) {
			got := Redact(pair[0])
			require.Equal(t, pair[1], got, pair[0])
			require.Equal(t, got, Redact(got), "twice: %s", pair[0])
			require.Equal(t, got != pair[0], HasSecret(pair[0]), pair[0])
			require.Equal(t, Safe(pair[0]), Safe(Safe(pair[0])), pair[0])
		})
	}
}

func TestAdversary_S6_InvisibleCharactersInSecrets(t *testing.T) {
	const token = "sk-abcdefghijklmnop0123"
	for _, r := range "\u200b\u2060\u202e\ufe0f\U000e0041\u3164\u00ad\u0336\a\x1b\x00" {
		for i := 1; i < len(token); i++ {
			s := "run " + token[:i] + string(r) + token[i:] + " now"
			for _, text := range []string{s, Escape(s)} {
				got := Safe(text)
				require.NotContains(t, got, token[:max(i, 4)], "%q", text)
				require.NotContains(t, got, token[min(i, len(token)-4):], "%q", text)
				require.True(t, strings.HasPrefix(got, "run ") && strings.HasSuffix(got, " now"), got)
			}
		}
	}
	require.Equal(t, `PASS\u{200B}WORD=[REDACTED]`, Safe("PASS\u200bWORD=hunter2"))
	require.Equal(t, `[REDACTED]\u{7}[REDACTED]`, Safe("sk-abcdefgh\aijklmnop0123"), "control characters are never hidden")
}

func TestAdversary_S6_PrivateKeys(t *testing.T) {
	line := strings.Repeat("MIIEvQIBADANBgkq", 4)
	for in, want := range map[string]string{
		"-----BEGIN RSA PRIVATE KEY-----\n" + line + "\n" + line + "\nAbc=\n-----END RSA PRIVATE KEY-----\nls": "-----BEGIN RSA PRIVATE KEY-----\n[REDACTED]\n[REDACTED]\n[REDACTED]\n-----END RSA PRIVATE KEY-----\nls",
		"-----BEGIN PRIVATE KEY-----\r\n  " + line + "\r\n-----END PRIVATE KEY-----":                           "-----BEGIN PRIVATE KEY-----\r\n  [REDACTED]\r\n-----END PRIVATE KEY-----",
		`K="-----BEGIN PRIVATE KEY-----\n` + line + `\n-----END PRIVATE KEY-----\n"`:                           `K="-----BEGIN PRIVATE KEY-----\n[REDACTED]\n-----END PRIVATE KEY-----\n"`,
		"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + line:                                    "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n[REDACTED]",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + line + "\n=abCD\n-----END":                               "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n[REDACTED]\n[REDACTED]\n-----END",
	} {
		require.Equal(t, want, Redact(in))
	}
	require.Equal(t, "-----BEGIN CERTIFICATE-----\n"+line, Redact("-----BEGIN CERTIFICATE-----\n"+line))
}

func TestAdversary_S8_PrivateKeysHideNoCommand(t *testing.T) {
	const begin, end = "-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----"
	for _, s := range []string{
		begin + "reboot" + end, begin + "/usr/bin/reboot" + end, begin + "////tmp/Evil" + end,
		begin + "MIIabc;rm" + end, begin + strings.Repeat("A", 201) + end, begin + "rm -rf ~\nMIIEvQ" + end,
	} {
		require.Equal(t, s, Redact(s))
	}
}

func TestAdversary_S8_LengthIsLimited(t *testing.T) {
	require.Equal(t, "PASSWORD=[REDACTED]", Redact("PASSWORD="+strings.Repeat("x", 200)))
	for _, start := range []string{"PASSWORD=", "ghp_", "sk-1", "--token ", "mysql -p", "https://u:", "Authorization: Bearer "} {
		s := start + strings.Repeat("x", 5000) + "@h"
		require.Equal(t, s, Redact(s))
	}
	jwt := "eyJhbGciOiJSUzI1NiJ9." + strings.Repeat("a", 700) + "." + strings.Repeat("b", 342)
	require.Equal(t, jwt[:len(jwt)-200]+"[REDACTED]", Redact(jwt))
	require.Equal(t, Redact(jwt), Redact(Redact(jwt)))
}

func TestAdversary_S8_LineBreaksAreShown(t *testing.T) {
	for in, want := range map[string]string{
		"PASSWORD=\"abc\nrm -rf ~\"":    "PASSWORD=\"abc\nrm -rf ~\"",
		"PASSWORD='abc\r\nrm'":          "PASSWORD='abc\r\nrm'",
		"PASSWORD=abc\nrm -rf ~":        "PASSWORD=[REDACTED]\nrm -rf ~",
		"PASSWORD=abc\u2028rm":          "PASSWORD=[REDACTED]\u2028rm",
		"curl \\\n --token abc \\\n -v": "curl \\\n --token [REDACTED] \\\n -v",
		"A=x\\\n--token evil":           "A=x\\\n--token evil",
	} {
		require.Equal(t, want, Redact(in))
	}
}

// crafted draws texts from the parts that secrets and tricks are made of.
func crafted(t *rapid.T) string {
	parts := []string{
		"TOKEN", "password", "--api-key", "-p", "mysql", "curl", "-u", "Authorization", "Bearer", "Basic", "=", ":", " ", "  ", "\t",
		"\"", "'", "\\", "\\\"", "\n", "\\\n", "$", "$(", ")", "`", ";", "&&", "|", "<", ">", "{", "}", "[", "]", "*", "?", "~", ",", "@", "://",
		"sk-abcdefghijklmnop0", "ghp_0123456789abcdefghij", "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1.eyJzdWIiOi.c2lnbm", "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
		"-----BEGIN PRIVATE KEY-----", "MIIEvQIBADAN", "\u200b", "\u202e", "\x00", "\a", "\u00a0", "\u2028", "\xff", `\u{200B}`, `\u{A}`, `\x{FF}`, "\\n",
		"abc", "Xy9", "hunter2", "evil1234", "[REDACTED]", ".", "-", "_", "/", "%", "ä", strings.Repeat("q", 99), strings.Repeat("Z9", 60),
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 24).Draw(t, "parts"), "")
}

// requireSound holds what Redact and Escape promise for any text.
func requireSound(t require.TestingT, s string) {
	const forbidden = "$`();&|<>\\'\"*?[]{} \t\r\n\v\f\u0085\u00a0\u2028\u2029"
	end := -1
	for _, x := range secrets(s) {
		require.Greater(t, x.from, end, "stretches are apart: %q", s)
		hidden := s[x.from:x.to]
		require.False(t, strings.ContainsAny(hidden, forbidden), "%q hides %q", s, hidden)
		require.False(t, strings.ContainsFunc(hidden, func(r rune) bool { return r < ' ' || r == 0x7f }), "%q", hidden)
		require.LessOrEqual(t, utf8.RuneCountInString(hidden), 200)
		end = x.to
	}
	once := Redact(s)
	require.Equal(t, once, Redact(once), "%q", s)
	requireVisible(t, Safe(Safe(s)), "")
	require.Equal(t, len(secrets(s)) > 0, HasSecret(s))
}

func TestRedactIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { requireSound(t, crafted(t)) })
}

func FuzzRedact(f *testing.F) {
	for _, pair := range corpus(f) {
		f.Add(pair[0])
	}
	f.Add("-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----")
	f.Add("sk-\u200babcdefghijkl012345")
	f.Fuzz(func(t *testing.T, s string) { requireSound(t, s) })
}
