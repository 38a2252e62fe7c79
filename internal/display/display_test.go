package display

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"
)

func TestAdversary_S2_InvisibleCharactersAreShown(t *testing.T) {
	for in, want := range map[string]string{
		"rm -rf /\u200b":      `rm -rf /\u{200B}`,
		"a\u202Eb\u2066c":     `a\u{202E}b\u{2066}c`,
		"tag\U000E0041":       `tag\u{E0041}`,
		"x\u3164y\u115F":      `x\u{3164}y\u{115F}`,
		"no\u00A0break":       `no\u{A0}break`,
		"a\u2028b\u2029c":     `a\u{2028}b\u{2029}c`,
		"one\r\ntwo\tthree":   `one\u{D}\u{A}two\u{9}three`,
		"s\u0336t":            `s\u{336}t`,
		"v\uFE0F":             `v\u{FE0F}`,
		"\x1b[31mred":         `\u{1B}[31mred`,
		"bad\xffbyte":         `bad\x{FF}byte`,
		"blank\u2800braille":  `blank\u{2800}braille`,
		"ordinary text, äöü!": "ordinary text, äöü!",
	} {
		require.Equal(t, want, Escape(in))
	}
}

func TestAdversary_S3_LookalikesAreNamed(t *testing.T) {
	found := Lookalikes("curl https://pаypal.com/x", 3)
	require.Len(t, found, 1)
	require.Contains(t, found[0], `"pаypal" contains U+0430 CYRILLIC SMALL LETTER A, which looks like "a"`)
	for _, s := range []string{"сp", "rм -rf", "ѕudo", "ｒm", "𝐫𝐦", "s\u0336t\u0336", "g\uFE0Eit", `s\u{336}t`, "сор", "οpen"} {
		require.NotEmpty(t, Lookalikes(s, 3), s)
	}
	for _, s := range []string{"rm -rf /tmp", "удалить файлы", "Größe", "café", "cafe\u0301", "日本語 text", "ελληνικά", "naïve résumé"} {
		require.Empty(t, Lookalikes(s, 3), s)
	}
	require.Len(t, Lookalikes("аa вb сc оo еe", 2), 3)
	require.Contains(t, Lookalikes("аa вb сc оo еe", 2)[2], "and 3 more")
}

func TestAdversary_S5_ArgvReadsBack(t *testing.T) {
	for want, argv := range map[string][]string{
		`ls -la`:                     {"ls", "-la"},
		`sh -c '$0 evil' 'rm -rf /'`: {"sh", "-c", "$0 evil", "rm -rf /"},
		`'ls ' ''`:                   {"ls ", ""},
		`echo 'it'\''s'`:             {"echo", "it's"},
		`'FOO=bar' cmd`:              {"FOO=bar", "cmd"},
		`'if' x`:                     {"if", "x"},
		`cmd FOO=bar '~' '*'`:        {"cmd", "FOO=bar", "~", "*"},
	} {
		require.Equal(t, want, Argv(argv))
	}
	rapid.Check(t, func(t *rapid.T) {
		printable := rapid.StringOfN(rapid.RuneFrom(nil, unicode.Latin, unicode.Punct, unicode.Symbol, unicode.Nd).Filter(func(r rune) bool { return !isConcealed(r) }), 0, 12, -1)
		argv := rapid.SliceOfN(printable, 1, 5).Draw(t, "argv")
		if argv[0] == "" {
			argv[0] = "x"
		}
		line := Argv(argv)
		f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
		if err != nil || len(f.Stmts) != 1 {
			t.Fatalf("%q does not parse: %v", line, err)
		}
		call, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
		if !ok || len(call.Assigns) > 0 {
			t.Fatalf("%q is no simple command", line)
		}
		back, err := expand.Fields(&expand.Config{}, call.Args...)
		if err != nil {
			t.Fatal(err)
		}
		require.Equal(t, argv, back)
	})
}

func TestAdversary_S6_SecretsAreHidden(t *testing.T) {
	for in, want := range map[string]string{
		`curl -H "Authorization: Bearer abc.def-123456"`:                                  `curl -H "Authorization: Bearer [REDACTED]"`,
		`AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI deploy`:                                      `AWS_SECRET_ACCESS_KEY=[REDACTED] deploy`,
		`DB_PASSWORD=hunter2`:                                                             `DB_PASSWORD=[REDACTED]`,
		`psql postgres://app:s3cret@db/x`:                                                 `psql postgres://app:[REDACTED]@db/x`,
		`mysql -u root -pS3cret db`:                                                       `mysql -u root -p[REDACTED] db`,
		`tool --api-key k-1234 --name x`:                                                  `tool --api-key [REDACTED] --name x`,
		`tool --password=abc123`:                                                          `tool --password=[REDACTED]`,
		`{"user":"a","password":"p4ss"}`:                                                  `{"user":"a","password":"[REDACTED]"}`,
		`bot 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1`:                               `bot [REDACTED]`,
		`git clone https://ghp_0123456789abcdefABCDEF@github.com/a`:                       `git clone https://[REDACTED]@github.com/a`,
		`export X=AKIAIOSFODNN7EXAMPLE`:                                                   `export X=[REDACTED]`,
		`OPENAI sk-proj-abcdef1234567890`:                                                 `OPENAI [REDACTED]`,
		"sk-\u200babc3456defg":                                                            "[REDACTED]",
		"DB_PASS\u200bWORD=hunter2":                                                       "DB_PASS\u200bWORD=[REDACTED]",
		"password=hun\u2060ter2":                                                          "password=[REDACTED]",
		`curl -u bob:s3cr3t https://x`:                                                    `curl -u bob:[REDACTED] https://x`,
		`x eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl`:                                            `x [REDACTED]`,
		"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END PRIVATE KEY-----": "-----BEGIN PRIVATE KEY-----\n[REDACTED]\n-----END PRIVATE KEY-----",
		`xoxb-123456789-abcdef`:                                                           `[REDACTED]`,
	} {
		require.Equal(t, want, Redact(in), in)
		require.True(t, HasSecret(in))
	}
	for _, s := range []string{
		"ls -la", "max_tokens=4096", "author=alice", "--author alice", "the key: value store", "keyboard=us", "git commit -m 'fix token parsing'",
		"sk-short", "http://host:8080/path", "monkey=1",
	} {
		require.Equal(t, s, Redact(s))
	}
}

func TestAdversary_S8_NothingHidesBehindRedaction(t *testing.T) {
	for _, s := range []string{
		"TOKEN=$(rm -rf ~)", "TOKEN=`rm -rf ~`", "password='a;rm -rf /'", "PASSWORD=${x}", "password=a\\\nrm",
		"password=" + strings.Repeat("x", 5000), "TOKEN=a;rm", "SECRET=<(evil)",
	} {
		got := Redact(s)
		for _, must := range []string{"rm", "$(", "`", "evil", strings.Repeat("x", 5000)} {
			if strings.Contains(s, must) {
				require.Contains(t, got, must, s)
			}
		}
	}
	// Property: what is hidden never holds anything that a shell acts on.
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("TOKENpassword=:\"' $`();&|<>\n\\abc019-_./@{}\u200b"))).Draw(t, "s")
		s = rapid.SampledFrom([]string{"", "TOKEN=", "--password ", "Bearer ", "https://a:"}).Draw(t, "prefix") + s
		got := Redact(s)
		require.Equal(t, got, Redact(got), "redacting twice changes nothing")
		for _, c := range "$`();&|<>\n" {
			require.Equal(t, strings.Count(s, string(c)), strings.Count(got, string(c)), "%q was hidden in %q", c, s)
		}
	})
}

func TestParams(t *testing.T) {
	got, err := Params([]byte(`{"a":"x","n":1.5,"o":{"k":[1,"z"]},"e":"","t":"true","password":"p4ss","s":" lead","b\u200b":"\u202e"}`))
	require.NoError(t, err)
	shown := make([][2]string, len(got))
	for i, f := range got {
		shown[i] = [2]string{f.Name, f.Value}
	}
	require.Equal(t, [][2]string{
		{"a", "x"}, {"n", "1.5"}, {"o", `{"k":[1,"z"]}`}, {"e", `""`}, {"t", `"true"`}, {"password", "[REDACTED]"}, {"s", `" lead"`}, {`b\u{200B}`, `\u{202E}`},
	}, shown)
	_, err = Params([]byte(`[]`))
	require.Error(t, err)
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
		cut  bool
	}{{"abc", 3, "abc", false}, {"abcd", 3, "ab…", true}, {"äöü", 3, "äöü", false}, {"äöüß", 3, "äö…", true}} {
		got, cut := Clip(tt.in, tt.n)
		require.Equal(t, tt.want, got)
		require.Equal(t, tt.cut, cut)
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"TOKEN=abc", "a\u200bb", "\xff", "Bearer abcdefgh", "-----BEGIN PRIVATE KEY-----\nabc", "mysql -pxx -pyy"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Safe(s)
		require.Equal(t, got, Escape(got))
		for _, r := range got {
			require.False(t, isConcealed(r), "%q", r)
		}
		require.Equal(t, Redact(Redact(s)), Redact(s))
		Lookalikes(s, 3)
		Argv([]string{s})
	})
}

func FuzzParams(f *testing.F) {
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte(`{"password":"x","n":{"a":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		fields, err := Params(b)
		if err != nil {
			return
		}
		for _, x := range fields {
			require.Equal(t, x.Value, Escape(x.Value))
		}
	})
}
