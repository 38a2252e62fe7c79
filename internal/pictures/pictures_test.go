package main

import (
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/pictures/calls"
)

// typicalCalls are those of policy's corpora that a person is asked about most often, as agents
// make them at work: commands first, then the tools of the common runtimes.
var typicalCalls = []calls.Call{
	calls.Run("git push"), calls.Run("git push -u origin feature/x"), calls.Run("git fetch origin"), calls.Run("git pull --rebase"),
	calls.Run("git clone https://github.com/x/y"), calls.Run("git checkout -- src/main.go"), calls.Run("git branch -D feature/x"),
	calls.Run("npm install left-pad"), calls.Run("npm ci"), calls.Run("npm run deploy"), calls.Run("npm publish"),
	calls.Run("pip install -r requirements.txt"), calls.Run("apt-get install -y ripgrep"), calls.Run("cargo install ripgrep"),
	calls.Run("go mod tidy"), calls.Run("go run ./cmd/tool"), calls.Run("go test ./... > /tmp/test.log 2>&1"),
	calls.Run("python3 script.py"), calls.Run("python3 -c 'print(1)'"), calls.Run("bash scripts/setup.sh"), calls.Run("npx -y create-react-app x"),
	calls.Run("make deploy"), calls.Run("docker compose up -d"), calls.Run("docker run --rm -it alpine sh"), calls.Run("kubectl apply -f k8s/"),
	calls.Run("terraform plan"), calls.Run("terraform apply -auto-approve plan.out"), calls.Run("aws s3 cp build s3://bucket --recursive"),
	calls.Run("gh pr create --fill"), calls.Run("psql -c 'select * from users limit 1'"), calls.Run("ssh build@host uptime"),
	calls.Run(`curl -X POST https://api.example.com -d '{"a":1}'`), calls.Run("rm -rf dist"), calls.Run("cat .env"), calls.Run("sudo systemctl restart nginx"),
	{Tool: "Write", Params: `{"file_path":"/etc/hosts","content":"127.0.0.1 localhost\n10.0.0.5 db\n"}`},
	{Tool: "Edit", Params: `{"file_path":"/workspace/.github/workflows/ci.yml","old_string":"go test ./...","new_string":"go test -race ./..."}`},
	{Tool: "message", Params: `{"action":"send","to":"#general","message":"v2.4.1 is out, see the notes."}`},
	{Tool: "mcp__stripe__create_refund", Params: `{"charge":"ch_3N","amount":24990,"currency":"eur"}`},
	{Tool: "WebFetch", Params: `{"url":"https://internal.example.com/admin","prompt":"what changed?"}`},
}

// What a tired person reads at once, on a phone that is 360 pixels wide and 640 high.
const (
	mostLines  = 12
	mostHeight = 640

	mostLinesOfAll = 20 // of any kind of call, those that go into a file among them
)

func chromium(t *testing.T) browser {
	t.Helper()
	b, err := newBrowser()
	switch {
	case err == nil:
		return b
	case os.Getenv("APPROVALBOT_REQUIRE_CHROMIUM") != "":
		t.Fatal(err)
	}
	t.Skip("pictures of cards: not tested, install chromium, fonts-roboto-unhinted, fonts-dejavu-core and fonts-noto-color-emoji")
	return b
}

// Typical cards are short on both platforms, and the command is seen together with the
// buttons.
func TestTypicalCardsFitAPhone(t *testing.T) {
	b := chromium(t)
	d, err := newDesk(t.Context())
	require.NoError(t, err)
	defer d.close()
	require.Len(t, typicalCalls, 40)
	var all []picture
	for _, one := range typicalCalls {
		c := call{Call: one, from: approval.AskedFrom{Runtime: "Claude Code", SubagentType: "Explore",
			Branch: "feature/checkout-page", Worktree: "checkout-page"}}
		c.Why = "the release needs it"
		a, err := d.asked(t.Context(), c)
		require.NoError(t, err)
		card, err := d.card(t.Context(), a, "")
		require.NoError(t, err)
		require.NotEmpty(t, card.Offers, "%s", c.Params)
		all = append(all, telegram(card), discord(card))
	}
	m, err := b.measure(t.Context(), page(all...))
	require.NoError(t, err)
	require.Len(t, m.All, len(all))
	sum := map[string]int{}
	for i, got := range m.All {
		c, platform := typicalCalls[i/2], all[i].platform
		sum[platform] += got.Lines
		if got.Lines > mostLines || got.Height > mostHeight {
			t.Errorf("%s: %d lines, %d pixels with the buttons: %s %s\n%s", platform, got.Lines, got.Height, c.Tool, c.Params, all[i].text)
		}
	}
	t.Logf("lines on average: telegram %.1f, discord %.1f", float64(sum["telegram"])/40, float64(sum["discord"])/40)
}

// For each kind of call, what decides is on the first screen with the buttons, as people write it, and nothing is
// left out without a count.
func TestKindsOfCallOnAPhone(t *testing.T) {
	d, err := newDesk(t.Context())
	require.NoError(t, err)
	defer d.close()
	require.Len(t, calls.Kinds(), 24)
	var all []picture
	for _, k := range calls.Kinds() {
		a, err := d.asked(t.Context(), call{Call: k.Call})
		require.NoError(t, err)
		c, err := d.card(t.Context(), a, "")
		require.NoError(t, err)
		require.NotEmpty(t, c.Offers, k.Name)
		requireCounted(t, k.Name, c)
		for _, p := range []picture{telegram(c), discord(c)} {
			text := seenOf(p)
			require.Contains(t, text, k.Worst, "%s on %s", k.Name, p.platform)
			requireAsWritten(t, text, k.Name+" on "+p.platform)
			all = append(all, p)
		}
	}
	b := chromium(t)
	m, err := b.measure(t.Context(), page(all...))
	require.NoError(t, err)
	for i, got := range m.All {
		if name := calls.Kinds()[i/2].Name; got.Height > mostHeight || got.Lines > mostLinesOfAll {
			t.Errorf("%s on %s: %d lines, %d pixels with the buttons", name, all[i].platform, got.Lines, got.Height)
		}
	}
}

// A terminal shows each kind of call whole, as people write it, with what decides above its prompt.
func TestKindsOfCallInATerminal(t *testing.T) {
	d, err := newDesk(t.Context())
	require.NoError(t, err)
	defer d.close()
	for _, k := range calls.Kinds() {
		a, err := d.asked(t.Context(), call{Call: k.Call})
		require.NoError(t, err)
		for _, columns := range []int{narrowTerminal, wideTerminal} {
			text, err := d.terminal(t.Context(), a, columns)
			require.NoError(t, err)
			for line := range strings.Lines(text) {
				require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), columns, "%s: %s", k.Name, line)
			}
			lines := strings.Split(strings.TrimSpace(text), "\n")
			require.Contains(t, unwrapped(lines[max(0, len(lines)-terminalLines):]), strings.Join(strings.Fields(k.Worst), ""), "%s at %d columns\n%s", k.Name, columns, text)
			requireAsWritten(t, text, k.Name)
		}
	}
}

// terminalLines is how many lines of a card are seen above the prompt of a terminal that has 24.
const terminalLines = 23

// unwrapped is a text without blanks and the marks before its lines, so that it is the same however wide it is.
func unwrapped(lines []string) string {
	var out strings.Builder
	for _, l := range lines {
		for _, word := range strings.Fields(strings.TrimLeft(l, "│┊")) {
			out.WriteString(word)
		}
	}
	return out.String()
}

// requireAsWritten holds that a text has nothing as JSON or as an escape that people write otherwise.
func requireAsWritten(t *testing.T, text, where string) {
	t.Helper()
	for _, odd := range []string{`\n`, `\t`, `\"`, `{"`, `":`, `\u{9}`, `\u{A}`} {
		require.NotContains(t, text, odd, where)
	}
}

// requireCounted holds that a card says how much it leaves out of what it shortens.
func requireCounted(t *testing.T, name string, c card.Card) {
	cuts := ""
	for _, b := range c.Call {
		cuts += b.Cut
	}
	for _, b := range c.Call {
		for _, line := range b.Plain() {
			folded := strings.HasSuffix(line, "unchanged lines") || strings.HasSuffix(line, "empty lines")
			if strings.Contains(line, "…") && !folded {
				require.Regexp(t, `\d+ more (line|character|value)s?.*, whole in the file above`, cuts, "%s: %s", name, line)
			}
		}
	}
	if strings.Contains(c.Headline.String()+c.Place.String(), "…") {
		require.Equal(t, "Shortened here, whole in the file above", c.Cut, name)
	}
}

var (
	foldedQuote = regexp.MustCompile(`(?s)<blockquote class="folded">.*?</blockquote>`)
	anyTag      = regexp.MustCompile(`<[^>]*>`)
)

// seenOf is the text of a picture that is not folded away, on one line.
func seenOf(p picture) string {
	text := anyTag.ReplaceAllString(foldedQuote.ReplaceAllString(p.text, ""), " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// The measure counts: a card that is long is found to be.
func TestMeasureSeesALongCard(t *testing.T) {
	b := chromium(t)
	long := card.Card{Code: "K7QX2M", Headline: card.Words{{Text: "deployer asks to run"}}, Why: "R4 high impact"}
	for range 14 {
		long.Call = append(long.Call, card.Blocks([]card.Fact{{Name: "name", Value: "value", Own: true}})...)
	}
	folded := card.Card{Code: "K7QX2M", Headline: card.Words{{Text: "deployer asks to run"}}, Why: "R4 high impact"}
	for range 14 {
		folded.Details = append(folded.Details, card.Fact{Name: "name", Value: "value", Own: true})
	}
	m, err := b.measure(t.Context(), page(telegram(long), discord(long), telegram(folded), discord(folded)))
	require.NoError(t, err)
	lines := make([]int, len(m.All))
	for i, one := range m.All {
		lines[i] = one.Lines
	}
	require.Equal(t, []int{17, 17, 6, 3}, lines, "three lines of what Telegram folds are seen, and none on Discord")
}
