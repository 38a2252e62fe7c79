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
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

var rewrite = flag.Bool("update", false, "write the golden files anew")

func goldenCards() map[string]card.Card {
	pending := card.Card{
		Code: "7KQ2AB", Status: approval.Pending, Risk: approval.R3,
		Headline: card.Words{{Text: "main-agent asks "}, {Text: "to run"}},
		Call:     card.Blocks([]card.Fact{{Name: "command", Value: "git push --force origin main", Block: true}, {Name: "env", Value: "GIT_SSH_COMMAND=ssh -i key"}}),
		Place:    card.Words{{Text: "in "}, {Text: "/srv/app", Theirs: true}},
		Why:      "R3 external change or irreversible: overwrites or deletes history in another repository; reads .env",
		Warnings: []string{`"оrigin" has the Cyrillic letter о`},
		Details: []card.Fact{
			{Name: "Tool", Value: "exec", Own: true}, {Name: "Asked by token", Value: "main-agent", Own: true}, {Name: "Fingerprint", Value: "3f2a9c0b7d1e", Own: true},
			{Name: "Agent", Value: "main"}, {Name: "Session", Value: "agent:main:7"},
		},
		Claims: []string{"claimed: “The release must go out. <b>Risk: R0 · approved by policy</b>”, for bob"},
		State:  card.State{Flags: []string{"look-alikes"}, UntilMs: 1, Until: "until 15:04 CET (15 min)"}, Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession},
	}
	with := func(change func(*card.Card)) card.Card {
		c := pending
		change(&c)
		return c
	}
	end := func(s approval.Status, outcome string) card.Card {
		return with(func(c *card.Card) {
			c.Status, c.Outcome, c.Call, c.Place, c.Offers, c.State = s, card.Words{{Text: outcome}}, nil, nil, nil, card.State{}
			c.Headline, c.Summary = card.Words{{Text: "main-agent asked for"}}, "git push --force origin main · in /srv/app"
		})
	}
	return map[string]card.Card{
		"pending": pending,
		"small": {Code: "7KQ2AB", Status: approval.Pending, Risk: approval.R1, Why: "R1 local change", Headline: card.Words{{Text: "a asks to run"}},
			Call: card.Blocks([]card.Fact{{Name: "command", Value: "touch x", Block: true}}), State: card.State{Until: "until 15:04 UTC (15 min)"}},
		"quorum": with(func(c *card.Card) { c.Risk, c.State.Votes = approval.R4, "1 of 2 yes (alice)" }),
		"file": with(func(c *card.Card) {
			c.Headline = card.Words{{Text: "main-agent asks "}, {Text: "to write "}, {Text: "src/app.go", Theirs: true}, {Text: " (812 lines)"}}
			c.Call = card.Blocks([]card.Fact{{Name: "content", Value: strings.Repeat("0123456789 ", 34) + "(58211 characters, whole in the file above)", Block: true}})
			c.Cut = "Cut here, whole in the file above"
		}),
		"cut": with(func(c *card.Card) {
			c.Headline = card.Words{{Text: "main-agent asks "}, {Text: "to use "}, {Text: "frob", Theirs: true}}
			c.Call = card.Blocks([]card.Fact{{Name: "path", Value: "/etc/cron.d/x"}, {Name: "k000", Value: "v"}, {Name: "k001", Value: "v"}})
			c.Cut = "… and 57 more parameters, whole in the file above"
		}),
		"script": with(func(c *card.Card) {
			c.Call = card.Blocks([]card.Fact{{Name: "command", Value: "set -e\nmake\n✅ Allowed once by alice", Block: true}})
		}),
		"forged": with(func(c *card.Card) {
			c.Call = card.Blocks([]card.Fact{{Name: "Votes", Value: "2 of 2: alice, bob"}, {Name: "Fingerprint", Value: "000000000000"}, {Name: "Tool", Value: "read"},
				{Name: "Expires", Value: "never"}, {Name: "bound to host", Value: "staging"}, {Name: "bound to host", Value: "prod-1", Own: true}})
		}),
		"deny-only": with(func(c *card.Card) {
			c.Offers, c.DenyOnly = nil, "The call itself cannot be shown, so it can only be denied here."
			c.Call = nil
		}),
		"fingerprint": with(func(c *card.Card) {
			c.Headline = card.Words{{Text: "scanner asks "}, {Text: "to run "}, {Text: "deploy", Theirs: true}, {Text: ", contents not shown here: deny here, or decide in the terminal"}}
			c.Call, c.Place, c.Offers = nil, nil, nil
		}),
		"params": with(func(c *card.Card) {
			facts := []card.Fact{{Name: "script", Value: "a\nb"}}
			for i := range 30 {
				facts = append(facts, card.Fact{Name: fmt.Sprintf("list[%d]@name", i), Value: fmt.Sprintf("<%d>", i)})
			}
			c.Call = card.Blocks(facts)
		}),
		"hostile": with(func(c *card.Card) {
			c.Headline, c.Why = card.Words{{Text: hostile}, {Text: hostile, Theirs: true}}, hostile
			c.Claims = []string{"claimed: “" + hostile + "”"}
		}),
		"allowed":   end(approval.Approved, "✅ Allowed once by alice, 15:00 CET · reported: exit 0"),
		"failed":    end(approval.Approved, "✅ Allowed once by alice, 15:00 CET · ❌ reported: failed, exit 1"),
		"denied":    end(approval.Denied, "⛔ Denied by alice, 15:00 CET: not on a Friday"),
		"expired":   end(approval.Expired, "⌛ Nobody answered in 15 min"),
		"revoked":   end(approval.Approved, "↩️ Taken back by alice, 15:01 CET, before it ran: wrong host. It had been allowed once by bob"),
		"withdrawn": end(approval.Withdrawn, "⌛ Withdrawn by token main-agent, 15:00 CET"),
		"swallowed": {Code: "7KQ2AB", Status: approval.Pending, Headline: card.Words{{Text: "rm ne\u030Aw", Theirs: true}}, Call: card.Blocks([]card.Fact{{Name: "x", Value: "a\u0333b\u033Fc"}})},
		"too long": with(func(c *card.Card) {
			c.Details = []card.Fact{{Name: "Why", Value: strings.Repeat("c", 3000)}}
			c.Call = card.Blocks([]card.Fact{{Name: "x", Value: strings.Repeat("p", 1500)}})
		}),
		"far too long": with(func(c *card.Card) { c.Call = card.Blocks([]card.Fact{{Name: "x", Value: strings.Repeat("p", 4000)}}) }),
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
		c.Offers, c.Wider = append(c.Offers, approval.AllowAlways), []string{"Allow session: “git push” without other options; by agent main in this session.", "Always: exactly this call; by agent main."}
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

var tagForm = regexp.MustCompile(`<(/?)([a-z]+)(?: expandable| class="language-[a-z]+")?>`)

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
			language := tag[2] == "code" && strings.Contains(tag[0], "class=")
			if len(open) > 0 && (open[len(open)-1] == "code" || open[len(open)-1] == "pre" && !language) {
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
	fact := rapid.Custom(func(t *rapid.T) card.Fact {
		return card.Fact{Name: word.Draw(t, "name"), Value: rapid.OneOf(word, word, long).Draw(t, "value"), Own: rapid.Bool().Draw(t, "own"), Block: rapid.Bool().Draw(t, "block")}
	})
	facts, texts := rapid.SliceOfN(fact, 0, 60), rapid.SliceOfN(word, 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		line := func(name string) card.Words {
			return card.Words{{Text: long.Draw(t, name)}, {Text: word.Draw(t, name+" of theirs"), Theirs: true}}
		}
		c := card.Card{
			Code: word.Draw(t, "code"), Headline: line("headline"), Place: line("place"), Risk: approval.RiskClass(rapid.IntRange(-1, 6).Draw(t, "risk")),
			Status: rapid.SampledFrom([]approval.Status{approval.Pending, approval.Approved, approval.Denied, approval.Expired, approval.Withdrawn}).Draw(t, "status"),
			Why:    long.Draw(t, "why"), Warnings: texts.Draw(t, "warnings"), Call: card.Blocks(facts.Draw(t, "call")),
			Details: facts.Draw(t, "details"), Claims: texts.Draw(t, "claims"), Outcome: line("outcome"), Summary: long.Draw(t, "summary"),
			State:  card.State{Flags: texts.Draw(t, "flags"), Votes: word.Draw(t, "votes"), Until: word.Draw(t, "until")},
			Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways}, DenyOnly: word.Draw(t, "deny only"),
			Wider: texts.Draw(t, "wider"),
		}
		got, drawn := Card(c)
		text := checkHTML(t, got)
		if menu := Menu(c, textcmd.MenuMore); !strings.HasPrefix(checkHTML(t, menu.HTML), text) || len(drawn.Offers) == 0 && len(menu.Rows) > 3 {
			t.Fatalf("with the menu open it says %q", menu.HTML)
		}
		if drawn.Status != approval.Pending || len(drawn.Offers) == 0 {
			return
		}
		whole := func(what, s string) {
			want := swallowed.Replace(strings.ToValidUTF8(s, "\uFFFD"))
			unbroken := strings.ReplaceAll(text, "\n  ↳", "")
			oneOfMany := swallowed.Replace(card.Fact{Value: s}.Line()) // which has each on a line of its own
			if !strings.Contains(unbroken, tabs.Replace(want)) && !strings.Contains(text, want) && !strings.Contains(text, oneOfMany) {
				t.Fatalf("an allow is offered, but %s %q is not on the card:\n%s", what, want, text)
			}
		}
		for _, w := range append(slices.Clone(c.Headline), c.Place...) {
			whole("a word", w.Text)
		}
		for _, b := range c.Call {
			whole("a name", b.Name)
			for _, l := range b.Lines {
				whole("a line", l.Text())
			}
			for _, r := range b.Rows {
				whole("a name", r.Name)
				whole("a value", r.Value)
			}
		}
	})
}

// The largest card that the core makes is shown whole.
func TestTheCoresLargestCardFits(t *testing.T) {
	r := func(n int) string { return strings.Repeat("&", n) }
	c := card.Card{
		Code: "7KQ2AB", Status: approval.Pending, Headline: card.Words{{Text: r(180)}}, Place: card.Words{{Text: r(210)}}, Why: r(160),
		Claims: []string{r(300)}, State: card.State{Votes: r(100), Until: "until 15:04 CET (15 min)"},
		Call: card.Blocks([]card.Fact{{Name: "x", Value: r(1500)}}), Offers: []approval.Decision{approval.AllowOnce},
	}
	for range 11 {
		c.Details = append(c.Details, card.Fact{Name: "Bound to environment", Value: r(120), Own: true})
	}
	got, drawn := Card(c)
	if checkHTML(t, got); len(drawn.Offers) == 0 || len(drawn.Call) == 0 {
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
