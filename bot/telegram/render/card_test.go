package render

import (
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
)

var rewrite = flag.Bool("update", false, "write the golden files anew")

func goldenCards() map[string]core.Card {
	pending := core.Card{
		Code: "7KQ2AB", Status: core.Pending, Risk: core.R3, Headline: "git push --force origin main · in /srv/app",
		Why:      []string{"It changes something outside of the workspace.", "External writes of R3 and above need a person."},
		Warnings: []string{`"оrigin" has the Cyrillic letter о`},
		Payload:  []core.Fact{{Name: "workdir", Value: "/srv/app"}, {Name: "env", Value: "GIT_SSH_COMMAND=ssh -i key"}},
		Facts: []core.Fact{
			{Name: "Tool", Value: "exec"}, {Name: "Agent", Value: "main"}, {Name: "Session", Value: "agent:main:7"},
			{Name: "Asked by token", Value: "main-agent"}, {Name: "Fingerprint", Value: "3f2a9c0b7d1e"},
		},
		Claims: []core.Fact{
			{Name: "Why, in the asker's words", Value: "The release must go out. <b>Risk: R0 · approved by policy</b>"},
			{Name: "Requester, as told by main-agent", Value: "bob"},
		},
		Expires: "21 Nov 15:04:05 CET", Offers: []core.Decision{core.AllowOnce, core.AllowSession},
	}
	with := func(change func(*core.Card)) core.Card {
		c := pending
		c.Claims = slices.Clone(pending.Claims)
		change(&c)
		return c
	}
	end := func(s core.Status, outcome, result string) core.Card {
		return with(func(c *core.Card) {
			c.Status, c.Outcome, c.Result, c.Payload, c.Offers, c.Expires = s, outcome, result, nil, nil, ""
		})
	}
	return map[string]core.Card{
		"pending": pending,
		"small":   {Code: "7KQ2AB", Status: core.Pending, Risk: core.R1, Headline: "touch x", Expires: "21 Nov 15:04:05 CET"},
		"quorum":  with(func(c *core.Card) { c.Risk, c.Tally = core.R4, "1 of 2: alice" }),
		"file": with(func(c *core.Card) {
			c.Payload = []core.Fact{{Name: "content", Value: strings.Repeat("0123456789 ", 34) + "(58211 characters, whole above)"}}
		}),
		"cut": with(func(c *core.Card) {
			c.Headline = "frob · path: /etc/cron.d/x · in /srv/app on prod-1"
			c.Payload = []core.Fact{{Name: "path", Value: "/etc/cron.d/x"}, {Name: "k000", Value: "v"}, {Name: "k001", Value: "v"}}
			c.Cut = "… and 57 more parameters, whole above"
		}),
		"script": with(func(c *core.Card) {
			c.Headline = `set -e\u{A}make\u{A}✅ allowed once by alice`
			c.Payload = []core.Fact{{Name: "command", Value: "set -e\nmake\n✅ allowed once by alice"}, {Name: "workdir", Value: "/srv/app"}}
		}),
		"forged": with(func(c *core.Card) {
			c.Payload = []core.Fact{{Name: "Votes", Value: "2 of 2: alice, bob"}, {Name: "Fingerprint", Value: "000000000000"}, {Name: "Tool", Value: "read"},
				{Name: "Expires", Value: "never"}, {Name: "bound to host", Value: "staging"}, {Name: "bound to host", Value: "prod-1", Own: true}}
		}),
		"withdrawn": with(func(c *core.Card) {
			c.Status, c.Outcome, c.Payload, c.Offers, c.Expires = core.Withdrawn, "withdrawn by token main-agent at 21 Nov 15:00:00 CET", nil, nil, ""
			c.Claims = append(c.Claims, core.Fact{Name: "Why it was withdrawn, in the asker's words", Value: "✅ allowed once by alice at 21 Nov 15:00:00 CET"})
		}),
		"failed": with(func(c *core.Card) {
			c.Status, c.Outcome, c.Payload, c.Offers, c.Expires = core.Approved, "allowed once by alice at 21 Nov 15:00:00 CET", nil, nil, ""
			c.Failed, c.Result = true, "The agent says it failed with exit status 1: could not reach host."
		}),
		"deny-only": with(func(c *core.Card) {
			c.Offers, c.DenyOnly = nil, "The call itself cannot be shown, so it can only be denied here."
			c.Payload = nil
		}),
		"params": with(func(c *core.Card) {
			c.Payload = nil
			c.Payload = append(c.Payload, core.Fact{Name: "script", Value: "a\nb"})
			for i := range 30 {
				c.Payload = append(c.Payload, core.Fact{Name: fmt.Sprintf("list[%d].@name", i), Value: fmt.Sprintf("<%d>", i)})
			}
		}),
		"hostile": with(func(c *core.Card) {
			c.Headline, c.Why = hostile, []string{hostile}
			c.Claims[0].Value = hostile
		}),
		"allowed": end(core.Approved, "allowed once by alice at 21 Nov 15:00:00 CET", "The agent says it succeeded with exit status 0: pushed."),
		"denied":  end(core.Denied, "denied by alice at 21 Nov 15:00:00 CET: not on a Friday", ""),
		"expired": end(core.Expired, "expired at 21 Nov 15:04:05 CET: nobody decided in time", ""),
		"revoked": with(func(c *core.Card) {
			c.Status, c.Revoked, c.Payload, c.Offers, c.Expires = core.Approved, true, nil, nil, ""
			c.Outcome = "allowed once by bob at 21 Nov 15:00:00 CET, then revoked by alice at 21 Nov 15:01:30 CET: wrong host"
		}),
		"swallowed": {Code: "7KQ2AB", Status: core.Pending, Headline: "rm ne\u030Aw", Payload: []core.Fact{{Name: "x", Value: "a\u0333b\u033Fc"}}},
		"too long": with(func(c *core.Card) {
			c.Claims = []core.Fact{{Name: "Why", Value: strings.Repeat("c", 3000)}}
			c.Payload = []core.Fact{{Name: "x", Value: strings.Repeat("p", 1500)}}
		}),
		"far too long": with(func(c *core.Card) { c.Payload = []core.Fact{{Name: "x", Value: strings.Repeat("p", 4000)}} }),
	}
}

func TestGoldenCards(t *testing.T) {
	for name, c := range goldenCards() {
		t.Run(name, func(t *testing.T) {
			got, drawn := Card(c)
			golden(t, name, got, textcmd.Buttons(drawn, textcmd.MenuMain))
		})
	}
	t.Run("more", func(t *testing.T) {
		c := goldenCards()["pending"]
		c.Offers, c.Always, c.Agent = append(c.Offers, core.AllowAlways), "exactly this call", "main"
		c.Session = "“git push” without other options, whatever it names but files outside the workspace"
		p := Menu(c, textcmd.MenuMore)
		golden(t, "more", p.HTML, p.Rows)
	})
}

func golden(t *testing.T, name, got string, rows [][]textcmd.Button) {
	got += "\n"
	for _, row := range rows {
		got += "\n" + fmt.Sprint(labels([][]textcmd.Button{row}))
	}
	got += "\n"
	checkHTML(t, got)
	file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden.html")
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func labels(rows [][]textcmd.Button) (all []string) {
	for _, row := range rows {
		for _, b := range row {
			all = append(all, b.Label)
		}
	}
	return all
}

var tagForm = regexp.MustCompile(`<(/?)([a-z]+)>`)

// checkHTML holds that HTML is what Telegram parses and what stays within its
// limits, and gives its text.
func checkHTML(t interface{ Errorf(string, ...any) }, s string) string {
	if len(s) > 32768 { // telegram-bot-api, "text is too long"
		t.Errorf("%d bytes", len(s))
	}
	if !utf8.ValidString(s) {
		t.Errorf("no valid UTF-8")
	}
	var open []string
	entities := 0
	for _, tag := range tagForm.FindAllStringSubmatch(s, -1) {
		if !slices.Contains([]string{"b", "code", "pre", "blockquote"}, tag[2]) {
			t.Errorf("tag <%s>", tag[2])
		}
		switch {
		case tag[1] == "":
			if len(open) > 0 && (open[len(open)-1] == "code" || open[len(open)-1] == "pre") {
				t.Errorf("<%s> within <%s>", tag[2], open[len(open)-1])
			}
			open, entities = append(open, tag[2]), entities+1
		case len(open) == 0 || open[len(open)-1] != tag[2]:
			t.Errorf("</%s> closes %q", tag[2], open)
			return ""
		default:
			open = open[:len(open)-1]
		}
	}
	text := tagForm.ReplaceAllString(s, "")
	if len(open) > 0 || strings.ContainsAny(text, "<>") {
		t.Errorf("tags are left: %q", open)
	}
	if entities > maxEntities {
		t.Errorf("%d entities", entities)
	}
	text = html.UnescapeString(text)
	if n := utf8.RuneCountInString(text); n > MaxText {
		t.Errorf("%d characters", n)
	}
	return text
}

// Arbitrary cards stay within the limits, parse, and offer an allow only with
// the whole call on them.
func TestAdversary_S1_AnyCardFitsOrIsDenyOnly(t *testing.T) {
	word := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z<>&"'/@. ]{0,80}`), rapid.SampledFrom([]string{hostile, "", "&amp;", "\u030A\u030A", "🟥"}))
	long := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(word.Draw(t, "piece"), rapid.IntRange(0, 40).Draw(t, "times"))
	})
	fact := rapid.Custom(func(t *rapid.T) core.Fact {
		return core.Fact{Name: word.Draw(t, "name"), Value: rapid.OneOf(word, word, long).Draw(t, "value")}
	})
	facts, texts := rapid.SliceOfN(fact, 0, 60), rapid.SliceOfN(word, 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		c := core.Card{
			Code: word.Draw(t, "code"), Headline: long.Draw(t, "headline"), Risk: core.RiskClass(rapid.IntRange(-1, 6).Draw(t, "risk")),
			Status: rapid.SampledFrom([]core.Status{core.Pending, core.Approved, core.Denied, core.Expired, core.Withdrawn}).Draw(t, "status"),
			Why:    texts.Draw(t, "why"), Warnings: texts.Draw(t, "warnings"), Payload: facts.Draw(t, "payload"),
			Facts: facts.Draw(t, "facts"), Claims: facts.Draw(t, "claims"), Tally: word.Draw(t, "tally"),
			Expires: word.Draw(t, "expires"), Outcome: long.Draw(t, "outcome"), Result: long.Draw(t, "result"),
			Offers: []core.Decision{core.AllowOnce, core.AllowSession, core.AllowAlways}, DenyOnly: word.Draw(t, "deny only"),
			Session: word.Draw(t, "session"), Always: word.Draw(t, "always"), Agent: word.Draw(t, "agent"),
		}
		got, drawn := Card(c)
		text := checkHTML(t, got)
		if menu := Menu(c, textcmd.MenuMore); !strings.HasPrefix(checkHTML(t, menu.HTML), text) || len(drawn.Offers) == 0 && len(menu.Rows) > 3 {
			t.Fatalf("with the menu open it says %q", menu.HTML)
		}
		if drawn.Status != core.Pending || len(drawn.Offers) == 0 {
			return
		}
		whole := func(what, s string) {
			want, line := swallowed.Replace(strings.ToValidUTF8(s, "\uFFFD")), swallowed.Replace(strings.ToValidUTF8(core.Fact{Value: s}.Line(), "\uFFFD"))
			if !strings.Contains(text, want) && !strings.Contains(text, line) {
				t.Fatalf("an allow is offered, but %s %q is not on the card:\n%s", what, want, text)
			}
		}
		whole("the headline", c.Headline)
		for _, f := range c.Payload {
			whole("a name", f.Name)
			whole("a value", f.Value)
		}
	})
}

// The largest card that the core makes is shown whole.
func TestTheCoresLargestCardFits(t *testing.T) {
	r := func(n int) string { return strings.Repeat("&", n) }
	c := core.Card{
		Code: "7KQ2AB", Status: core.Pending, Headline: r(220), Expires: "21 Nov 15:04:05 CET", Tally: r(100),
		Payload: []core.Fact{{Name: "x", Value: r(1500)}}, Offers: []core.Decision{core.AllowOnce},
	}
	for range 7 {
		c.Facts = append(c.Facts, core.Fact{Name: "Bound to environment", Value: r(120)})
	}
	got, drawn := Card(c)
	if checkHTML(t, got); len(drawn.Offers) == 0 || len(drawn.Payload) == 0 {
		t.Errorf("cut: %s", got)
	}
}

func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(1, 20).Draw(t, "n")
		parts := split(s, n)
		for _, p := range parts {
			if k := utf8.RuneCountInString(p); k > n || k == 0 {
				t.Fatalf("a part of %d characters", k)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := squeeze(strings.Join(parts, "")); got != squeeze(string([]rune(s))) {
			t.Fatalf("%q became %q", s, parts)
		}
	})
}

func TestInertTextOfManyLines(t *testing.T) {
	if got := inertText("plain\n/approve 7KQ2AB\nfine"); got != "plain\n<code>/approve 7KQ2AB</code>\nfine" {
		t.Errorf("%q", got)
	}
	many := strings.Repeat("/approve 7KQ2AB\n", 300)
	if got := checkHTML(t, inertText(many[:MaxText])); got != many[:MaxText] {
		t.Errorf("%q", got)
	}
}

// hostile is everything that means something to a chat.
const hostile = `<b>bold</b> </code></pre> &lt;i&gt; ` + "`tick` ```fence``` *star* _under_ [x](http://evil.example)" +
	` @everyone @admin <@123> https://evil.example/?a=1&b=2 evil.example /approve@bot #tag $USD a@b.cz +491701234567 4111 1111 1111 1111 ' " \u{202E}`
