package display

import (
	"strings"
	"sync"
)

// shape is a kind of secret that is recognized by its form.
type shape struct {
	start string          // how it starts
	rest  func(byte) bool // the characters that follow
	min   int             // of these, at least
	shown bool            // start is a place, not part of the secret
}

var shapes = [...]shape{
	// AWS
	{"AKIA", isCapital, 16, false}, {"ASIA", isCapital, 16, false},
	// GitHub, GitLab
	{"ghp_", isAlnum, 16, false}, {"gho_", isAlnum, 16, false}, {"ghu_", isAlnum, 16, false},
	{"ghs_", isAlnum, 16, false}, {"ghr_", isAlnum, 16, false}, {"github_pat_", isToken, 16, false},
	{"glpat-", isToken, 16, false}, {"gldt-", isToken, 16, false}, {"glrt-", isToken, 16, false},
	// Slack, Discord
	{"xoxa-", isToken, 10, false}, {"xoxb-", isToken, 10, false}, {"xoxe-", isToken, 10, false},
	{"xoxp-", isToken, 10, false}, {"xoxr-", isToken, 10, false}, {"xoxs-", isToken, 10, false},
	{"xapp-", isToken, 10, false}, {"hooks.slack.com/services/", isPathToken, 16, true},
	{"discord.com/api/webhooks/", isPathToken, 40, true}, {"discordapp.com/api/webhooks/", isPathToken, 40, true},
	// OpenAI, Anthropic, Google, Hugging Face
	{"sk-", isToken, 10, false}, {"AIza", isToken, 30, false}, {"GOCSPX-", isToken, 20, false},
	{"hf_", isAlnum, 30, false},
	// Stripe
	{"sk_live_", isAlnum, 10, false}, {"sk_test_", isAlnum, 10, false},
	{"rk_live_", isAlnum, 10, false}, {"rk_test_", isAlnum, 10, false}, {"whsec_", isToken, 16, false},
	// npm, PyPI, Vault
	{"npm_", isAlnum, 30, false}, {"pypi-", isToken, 50, false}, {"hvs.", isToken, 20, false},
	// SendGrid, Docker, DigitalOcean, Shopify, Grafana, Linear, Groq, xAI, Atlassian, RubyGems, Supabase, Tailscale, age
	{"SG.", isDotted, 60, false}, {"dckr_pat_", isToken, 20, false}, {"dckr_oat_", isToken, 20, false},
	{"dop_v1_", isAlnum, 40, false},
	{"shpat_", isAlnum, 30, false}, {"shpss_", isAlnum, 30, false}, {"glsa_", isToken, 30, false},
	{"lin_api_", isAlnum, 30, false},
	{"gsk_", isAlnum, 40, false}, {"xai-", isAlnum, 40, false}, {"ATATT3", isToken, 40, false},
	{"rubygems_", isAlnum, 40, false},
	{"sbp_", isAlnum, 40, false}, {"tskey-", isToken, 20, false}, {"AGE-SECRET-KEY-1", isCapital, 50, false},
	// JSON web tokens
	{"eyJ", isDotted, 0, false},
}

// shapesBy holds the shapes by their first byte.
var shapesBy = sync.OnceValue(func() *[256][]shape {
	by := new([256][]shape)
	for _, x := range shapes {
		by[x.start[0]] = append(by[x.start[0]], x)
	}
	return by
})

func isCapital(c byte) bool   { return isUpper(c) || c >= '0' && c <= '9' }
func isToken(c byte) bool     { return isAlnum(c) || c == '_' || c == '-' }
func isPathToken(c byte) bool { return isToken(c) || c == '/' }
func isDotted(c byte) bool    { return isToken(c) || c == '.' }

// shaped finds secrets by their shape, at the start of a word.
func (f *finder) shaped() {
	s, by := f.text, shapesBy()
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == ':':
			f.telegram(i)
		case s[i] == '.':
			f.discord(i)
		case len(by[s[i]]) > 0 && startsWord(s, i):
			f.shapeAt(i)
		}
	}
}

// startsWord reports whether a word starts at i; the letter of an escaped line
// feed before it does not count.
func startsWord(s string, i int) bool {
	if i == 0 || !isAlnum(s[i-1]) && s[i-1] != '_' {
		return true
	}
	return i > 1 && isLineEscape(s[i-2:i])
}

func (f *finder) shapeAt(i int) {
	s := f.text
	for _, x := range shapesBy()[s[i]] {
		if i+1 == len(s) || s[i+1] != x.start[1] || !strings.HasPrefix(s[i:], x.start) {
			continue
		}
		if x.start == "eyJ" {
			f.webToken(i)
			continue
		}
		from, to := i, i+len(x.start)
		end := run(s, to, x.rest)
		goesOn := end < len(s) && isAlnum(s[end])
		if goesOn || end-to < x.min || !isGenuine(x, s[to:end]) {
			continue
		}
		if x.shown {
			from = to
		}
		f.token(from, end)
	}
}

// token hides a secret recognized by its shape, unless it is the rest of a
// longer one.
func (f *finder) token(from, to int) {
	if !strings.HasPrefix(f.text[to:], redacted) {
		f.hide(from, to)
	}
}

// isGenuine tells keys from words that only start like one.
func isGenuine(x shape, rest string) bool {
	switch x.start {
	case "AKIA", "ASIA":
		return len(rest) == x.min
	case "SG.":
		return strings.Count(rest, ".") == 1
	case "sk-":
		return !strings.Contains(rest, "-") && len(rest) >= 16 || strings.ContainsAny(rest, "0123456789")
	}
	return true
}

// webToken hides the JSON web token at i; of a long one it hides the end,
// without which the token is useless.
func (f *finder) webToken(i int) {
	s := f.text
	if i < f.dotted {
		return // inside a run that was read already
	}
	for f.dotted = i; f.dotted < len(s) && isDotted(s[f.dotted]); {
		f.dotted++
	}
	to := i + len(strings.TrimRight(s[i:f.dotted], "."))
	if to-i > 20 && strings.Count(s[i:to], ".") > 1 {
		f.token(max(i, to-longest), to)
	}
}

// telegram hides a bot's token, whose colon is at i.
func (f *finder) telegram(i int) {
	from := back(f.text, i, 13, isDigit)
	to := run(f.text, i+1, isToken)
	starts := from == 0 || !isAlnum(f.text[from-1]) || strings.HasSuffix(f.text[:from], "bot")
	if starts && within(i-from, 6, 12) && to-i > 30 {
		f.token(from, to)
	}
}

// discord hides a bot's token, the first of whose two dots is at i.
func (f *finder) discord(i int) {
	from := back(f.text, i, 40, isToken)
	second := run(f.text, i+1, isToken)
	if second >= len(f.text) || f.text[second] != '.' {
		return
	}
	to := run(f.text, second+1, isToken)
	head, middle, tail := i-from, second-i-1, to-second-1
	if within(head, 23, 30) && within(middle, 5, 7) && tail >= 25 {
		f.token(from, to)
	}
}

func within(n, least, most int) bool { return n >= least && n <= most }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// back returns the start of the run of such bytes that ends before i.
func back(s string, i, most int, of func(byte) bool) int {
	from := i
	for from > 0 && i-from < most && of(s[from-1]) {
		from--
	}
	return from
}

// run returns the end of the run of such bytes that starts at i; it stops at
// the length that may be hidden.
func run(s string, i int, of func(byte) bool) int {
	end := i
	for end < len(s) && end-i <= longest && of(s[end]) {
		end++
	}
	return end
}
