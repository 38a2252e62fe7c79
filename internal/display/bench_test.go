package display

import (
	"strings"
	"testing"
)

// Two kilobytes each.
var (
	plainText  = strings.Repeat("kubectl get pods -n default --sort-by=.metadata.name; echo done # ", 31)
	cueText    = strings.Repeat("authors keep the keyboard passing; --author bob monkey=1 http://h:80/x ", 29)
	secretText = strings.Repeat("curl -H 'Authorization: Bearer abcdef123456' https://u:p4ss@h/x; ", 31)
	wideText   = strings.Repeat("удалить файл /tmp/отчёт и всё ", 40)
)

func benchmark(b *testing.B, s string, f func(string) string) {
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		f(s)
	}
}

func BenchmarkRedact(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmark(b, plainText, Redact) })
	b.Run("cues", func(b *testing.B) { benchmark(b, cueText, Redact) })
	b.Run("secrets", func(b *testing.B) { benchmark(b, secretText, Redact) })
	b.Run("wide", func(b *testing.B) { benchmark(b, wideText, Redact) })
}

func BenchmarkEscape(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmark(b, plainText, Escape) })
	b.Run("wide", func(b *testing.B) { benchmark(b, wideText, Escape) })
}

func BenchmarkLookalikes(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Lookalikes(wideText, 3)
	}
}

func BenchmarkParams(b *testing.B) {
	params := []byte(`{"argv":["tool","--token","abc"],"command":"` + plainText + `","env":{"A":"1","DB_PASSWORD":"x"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Params(params); err != nil {
			b.Fatal(err)
		}
	}
}

// No text that an agent can send may keep the desk busy, whatever is in it.
func TestWorkIsBounded(t *testing.T) {
	const size = 64 << 10
	for _, part := range []string{
		"a", "--token a ", "A=--token a ", "\"A=--token a ", "'x' password: a1b2c3 ", "mysql ", "mysql -pa ", "://", "://a:b", "key", "key=",
		"-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nMIIE\n", "sk-", "eyJ.", "eyJaaaaaaaaaaaaaaaaaaaaa.b.", ":", "1:", ".", "a.", "\u200b", "\u200bTOKEN=a ",
		"\\", "\\\"", "password\\\\", `\u{200B}`, `\u{`, "Bearer a1234567 ", "Basic YTpi ", "\"", "AKIA", " ", "password ", "password: ", "[REDACTED]", "ghp_aaaaaaaaaaaaaaaaaaaa ",
		"eyJaaaaaaaaaaaaaaa", "hooks.slack.com/services/", "-", "-u a:b ", "curl -u a:b ", "аa ", "а", "e\u0301", "\u0301", "\xff", "xoxb-", "\"password\": \"a\", ", "curl -u \\\n",
	} {
		s := strings.Repeat(part, size/len(part))
		// Each takes milliseconds; what is not linear takes longer than the test
		// binary may run.
		Safe(s)
		Lookalikes(s, 3)
	}
}
