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
)

// typicalCalls are those of policy's corpora that a person is asked about most often, as agents
// make them at work: commands first, then the tools of the common runtimes.
var typicalCalls = []call{
	run("git push"), run("git push -u origin feature/x"), run("git fetch origin"), run("git pull --rebase"),
	run("git clone https://github.com/x/y"), run("git checkout -- src/main.go"), run("git branch -D feature/x"),
	run("npm install left-pad"), run("npm ci"), run("npm run deploy"), run("npm publish"),
	run("pip install -r requirements.txt"), run("apt-get install -y ripgrep"), run("cargo install ripgrep"),
	run("go mod tidy"), run("go run ./cmd/tool"), run("go test ./... > /tmp/test.log 2>&1"),
	run("python3 script.py"), run("python3 -c 'print(1)'"), run("bash scripts/setup.sh"), run("npx -y create-react-app x"),
	run("make deploy"), run("docker compose up -d"), run("docker run --rm -it alpine sh"), run("kubectl apply -f k8s/"),
	run("terraform plan"), run("terraform apply -auto-approve plan.out"), run("aws s3 cp build s3://bucket --recursive"),
	run("gh pr create --fill"), run("psql -c 'select * from users limit 1'"), run("ssh build@host uptime"),
	run(`curl -X POST https://api.example.com -d '{"a":1}'`), run("rm -rf dist"), run("cat .env"), run("sudo systemctl restart nginx"),
	{tool: "Write", params: `{"file_path":"/etc/hosts","content":"127.0.0.1 localhost\n10.0.0.5 db\n"}`},
	{tool: "Edit", params: `{"file_path":"/workspace/.github/workflows/ci.yml","old_string":"go test ./...","new_string":"go test -race ./..."}`},
	{tool: "message", params: `{"action":"send","to":"#general","message":"v2.4.1 is out, see the notes."}`},
	{tool: "mcp__stripe__create_refund", params: `{"charge":"ch_3N","amount":24990,"currency":"eur"}`},
	{tool: "WebFetch", params: `{"url":"https://internal.example.com/admin","prompt":"what changed?"}`},
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
	for _, c := range typicalCalls {
		c.why, c.from = "the release needs it", approval.AskedFrom{Runtime: "Claude Code", SubagentType: "Explore",
			Branch: "feature/checkout-page", Worktree: "checkout-page"}
		a, err := d.asked(t.Context(), c)
		require.NoError(t, err)
		card, err := d.card(t.Context(), a, "")
		require.NoError(t, err)
		require.NotEmpty(t, card.Offers, "%s", c.params)
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
			t.Errorf("%s: %d lines, %d pixels with the buttons: %s %s\n%s", platform, got.Lines, got.Height, c.tool, c.params, all[i].text)
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
	require.Len(t, kinds(), 24)
	var all []picture
	for _, k := range kinds() {
		a, err := d.asked(t.Context(), k.call)
		require.NoError(t, err)
		c, err := d.card(t.Context(), a, "")
		require.NoError(t, err)
		require.NotEmpty(t, c.Offers, k.name)
		requireCounted(t, k.name, c)
		for _, p := range []picture{telegram(c), discord(c)} {
			text := seenOf(p)
			require.Contains(t, text, k.worst, "%s on %s", k.name, p.platform)
			for _, odd := range []string{`\n`, `\t`, `\"`, `{"`, `":`, `\u{9}`, `\u{A}`} {
				require.NotContains(t, text, odd, "%s on %s", k.name, p.platform)
			}
			all = append(all, p)
		}
	}
	b := chromium(t)
	m, err := b.measure(t.Context(), page(all...))
	require.NoError(t, err)
	for i, got := range m.All {
		if name := kinds()[i/2].name; got.Height > mostHeight || got.Lines > mostLinesOfAll {
			t.Errorf("%s on %s: %d lines, %d pixels with the buttons", name, all[i].platform, got.Lines, got.Height)
		}
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
