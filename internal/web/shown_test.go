package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// A list that was sent has shown nothing yet: a phone cuts its lines. An allow from a row counts by the row's own form, if
// the row holds the whole call, and by no other call's.
func TestShown_ARowShowsWhatItsTickSays(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a, other, long := d.run("make it"), d.run("make other"), d.run("make it\nmake that")
	page := d.sees("bob", "/")
	require.Contains(t, page, `name="held" value="`+a.Fingerprint+`"`)
	require.NotContains(t, page, long.Fingerprint)
	allow := func(code, held string) int {
		form := url.Values{"decision": {"allow-once"}, "from": {"inbox"}, "held": {held}}
		return d.asks("bob", http.MethodPost, "/a/"+code+"/vote", form, func(r *http.Request) { r.Header.Set("HX-Request", "true") }).Code
	}
	require.Equal(t, http.StatusConflict, allow(a.Code, ""), "the list alone")
	require.Equal(t, http.StatusConflict, allow(a.Code, other.Fingerprint))
	require.Equal(t, http.StatusConflict, allow(long.Code, long.Fingerprint), "its row has not all of it")
	require.Equal(t, http.StatusOK, allow(a.Code, a.Fingerprint))
	require.Equal(t, approval.Approved, d.get(a).Status)
	require.Empty(t, append(d.get(other).Votes, d.get(long).Votes...))
}

// At every width a ✓ is drawn only if the whole line is; on a phone there is none, and a key opens the request.
func TestBrowser_ATickOnlyBesideTheWholeCall(t *testing.T) {
	t.Parallel()
	in := chromium(t)
	d := newDesk(t)
	d.run("make " + strings.Repeat("W", maxHeld-len("make ")))
	d.run("make   many    blanks " + strings.Repeat("x ", 40))
	a := d.run("make it-in-a-folder-whose-name-is-longer-than-a-phone-is-wide")
	d.address = d.serve("")
	p := d.open(in, "bob", "/", 360)
	p.live()
	const cut = `[...document.querySelectorAll(".quick .allow")].filter(b => b.checkVisibility()).map(b => b.closest(".row").querySelector("h3"))
		.filter(h => h.scrollWidth > h.clientWidth || h.scrollHeight > h.clientHeight || getComputedStyle(h).overflow !== "visible").map(h => h.textContent)`
	const ticks = `[...document.querySelectorAll(".quick .allow")].filter(b => b.checkVisibility()).length`
	for width, want := range map[int64]int{360: 0, 767: 0, 768: 3, 1099: 3, 1280: 3} {
		p.do(chromedp.EmulateViewport(width, 800))
		require.Equal(t, want, evaluate[int](p, ticks), width)
		require.Empty(t, evaluate[[]string](p, cut), width)
	}
	p.do(chromedp.EmulateViewport(360, 800))
	p.do(chromedp.Evaluate[chromedp.Void]("void document.getElementById('row-" + a.Code + "').focus()"))
	p.keys("a")
	p.until("location.pathname === '/a/" + a.Code + "'")
	require.Empty(t, d.get(a).Votes)
}

// What a page folds has not changed, by the desk's own comparison, and no reason comes from it: it counts as shown. Of a
// patch, which alone says what it changes, nothing is folded.
func TestShown_AFoldHasNoChange(t *testing.T) {
	t.Parallel()
	block := func(changed, reason int) card.Block {
		b := card.Block{Kind: card.Diff}
		for i := range 60 {
			l := card.Line{No: i + 1, Pieces: []card.Piece{{Text: fmt.Sprint("line ", i), Marked: i == reason}}}
			if i == changed {
				l.Sign = card.Come
			}
			b.Lines = append(b.Lines, l)
		}
		return b
	}
	folded := func(a approval.Approval, b card.Block) (text string) {
		all, _ := parts(a, []card.Block{b}, maxOnPage)
		for _, s := range all[0].Stretches {
			for _, l := range s.Lines {
				if s.Folded != "" {
					require.Empty(t, l.Class)
					text += l.Pieces[0].Text + ";"
				}
			}
		}
		return text
	}
	require.Contains(t, folded(approval.Approval{}, block(10, -1)), "line 30;")
	require.NotContains(t, folded(approval.Approval{}, block(10, -1)), "line 10;")
	require.NotContains(t, folded(approval.Approval{}, block(10, 30)), "line 30;", "a reason comes from it")
	require.Empty(t, folded(approval.Approval{Asked: approval.Asked{Form: approval.FormPatch}}, block(10, -1)))
}

// The page of a request, the one on which a yes to it is signed and the dialog draw the same call.
func TestOneDrawingOfACall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for what, a := range map[string]approval.Approval{
		"<mark>":                  d.run("set -e\nrm -rf ~/cache\nmake"),
		`class="line add"`:        d.ask("edit", `{"path":"/srv/a.go","old_string":"\tx := 1\n","new_string":"\tx := 2\n"}`),
		`<dl class="values">`:     d.ask("frobnicate", `{"a":1,"b":{"c":"d"}}`),
		`<span class="t-program"`: d.run("make it | tee log"),
	} {
		want := callOn(t, d.sees("alice", "/a/"+a.Code))
		require.Contains(t, want, what)
		require.Equal(t, want, callOn(t, d.sees("alice", "/a/"+a.Code+"/sign")))
		require.Equal(t, want, callOn(t, d.sees("alice", "/dialog/"+a.Code)))
	}
}

// callOn is the call on a page.
func callOn(t *testing.T, page string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, `<div class="call whole">`)
	require.True(t, found, page)
	for depth, at := 1, 0; ; {
		end := strings.Index(rest[at:], "</div>")
		require.GreaterOrEqual(t, end, 0)
		depth += strings.Count(rest[at:at+end], "<div") - 1
		if at += end + len("</div>"); depth == 0 {
			return rest[:at]
		}
	}
}

// Where an R4 call's yes is asked for a second time, the line that makes it so bad is repeated, and it can be taken back.
func TestConfirm_RepeatsTheWorstLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lines := strings.Repeat("aws s3 cp a s3://b/a\n", 60) + "rm -rf /var/lib/releases"
	text, err := json.Marshal(map[string]string{"command": lines})
	require.NoError(t, err)
	page := d.sees("bob", "/a/"+d.ask("exec", string(text)).Code)
	_, sure, _ := strings.Cut(page, `<div class="sure">`)
	sure, _, _ = strings.Cut(sure, "</details>")
	require.Contains(t, sure, "/var/lib/releases")
	require.Contains(t, sure, `data-no="61"`)
	require.Regexp(t, `… \d+ more lines above<`, sure)
	require.Contains(t, sure, "Yes, run it once")
	require.Contains(t, page, ">Cancel</span></summary>")
}
