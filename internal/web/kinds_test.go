package web

import (
	"cmp"
	"encoding/json"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/pictures/calls"
)

// askKinds has an agent ask for a call of each kind.
func (d *desk) askKinds() map[string]approval.Approval {
	d.t.Helper()
	out := map[string]approval.Approval{}
	for _, k := range calls.Kinds() {
		out[k.Name] = d.ask(k.Tool, k.Params, func(c *approval.Call) {
			if c.Justification = k.Why; k.Person != "" {
				c.Requester = &approval.Requester{Person: k.Person}
			}
		})
	}
	return out
}

var anyTag = regexp.MustCompile(`(?s)<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>`)

// textOn is what stands on a page, on one line; tags of words in colours are nothing between them.
func textOn(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	return strings.Join(strings.Fields(html.UnescapeString(anyTag.ReplaceAllString(page, ""))), " ")
}

// Every page that a person decides on shows each kind of call as people write it, all of it, with what decides.
func TestKinds_AsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	all := d.askKinds()
	for _, k := range calls.Kinds() {
		a := all[k.Name]
		for _, path := range []string{"/a/" + a.Code, "/a/" + a.Code + "/sign", "/dialog/" + a.Code} {
			page := d.sees("alice", path)
			page, _, _ = strings.Cut(page, "<h2>What happened")
			text := textOn(page)
			for part := range strings.SplitSeq(k.Worst, ", ") {
				require.Contains(t, text, part, k.Name+" "+path)
			}
			requireAsWritten(t, text, k.Name+" "+path)
			if strings.Contains(text, "This window is too small") {
				continue
			}
			// What stands for something else says how much it is.
			for _, cut := range regexp.MustCompile(`…[^<]*`).FindAllString(callOn(t, page), -1) {
				require.Regexp(t, `^… \d+ (unchanged|empty) lines`, cut, k.Name)
			}
		}
	}
	inbox := d.sees("alice", "/")
	requireAsWritten(t, textOn(inbox), "inbox")
	for name, says := range map[string]string{
		"script": "rm -rf /var/lib/releases … 62 more lines", "edits": "+3 −3 lines", "number": "+1 −1 lines", "write": "(5 lines)",
	} {
		_, row, found := strings.Cut(inbox, `id="row-`+all[name].Code)
		require.True(t, found, name)
		row, _, _ = strings.Cut(row, "</li>")
		require.Contains(t, textOn("<main"+row), says)
	}
}

// requireAsWritten holds that a text has nothing as JSON or as an escape that people write otherwise.
func requireAsWritten(t *testing.T, text, where string) {
	t.Helper()
	for _, odd := range []string{`\n`, `\t`, `\"`, `{"`, `":`, `\u{9}`, `\u{A}`} {
		require.NotContains(t, text, odd, where)
	}
}

// seenWhole reports whether a text is seen on the screen as it is, above the bar with the decision.
const seenWhole = `((text) => {
	const walk = document.createTreeWalker(document.querySelector("#approval .card"), NodeFilter.SHOW_TEXT), nodes = [];
	let all = "";
	for (let n; n = walk.nextNode();) {
		if (!n.parentElement.checkVisibility() || n.parentElement.closest(".decide")) continue;
		nodes.push([all.length, n]);
		all += n.data;
	}
	const top = document.querySelector(".top").getBoundingClientRect().bottom;
	const bottom = Math.min(innerHeight, document.querySelector(".decide").getBoundingClientRect().top);
	const at = (i) => nodes.findLast(([from]) => from <= i);
	for (let i = all.indexOf(text); i >= 0; i = all.indexOf(text, i + 1)) {
		const range = document.createRange(), first = at(i), last = at(i + text.length - 1);
		range.setStart(first[1], i - first[0]);
		range.setEnd(last[1], i + text.length - last[0]);
		const rects = [...range.getClientRects()].filter((r) => r.width);
		if (rects.length && rects.every((r) => r.top >= top && r.bottom <= bottom)) return true;
	}
	return false;
})`

// On a phone of 360 by 640 pixels the first screen of each kind of call has what decides, above the buttons. With
// APPROVALBOT_PICTURES=folder the pages are drawn there, and the inbox with all of them.
func TestBrowser_EveryKind(t *testing.T) {
	t.Parallel()
	in := chromium(t)
	d := newDesk(t)
	all := d.askKinds()
	d.address = d.serve("")
	dir := os.Getenv("APPROVALBOT_PICTURES")
	widths := []int64{360}
	if dir != "" {
		widths = append(widths, 1280)
	}
	for _, width := range widths {
		p := d.open(in, "alice", "/", width)
		p.do(chromedp.EmulateViewport(width, 640))
		for _, k := range calls.Kinds() {
			p.goTo("/a/" + all[k.Name].Code)
			for part := range strings.SplitSeq(k.Worst, ", ") {
				text, err := json.Marshal(part)
				require.NoError(t, err)
				if !evaluate[bool](p, seenWhole+"("+string(text)+")") {
					t.Errorf("%s at %d pixels: %s is not on the first screen", k.Name, width, part)
				}
			}
			require.Empty(t, p.wide(), k.Name)
			if dir != "" {
				p.picture(dir + "/web-" + k.Name + "-" + map[int64]string{360: "360", 1280: "1280"}[width] + ".png")
			}
		}
		for _, scheme := range []string{"light", "dark"} {
			if dir == "" {
				break
			}
			p.in(scheme)
			p.goTo("/")
			p.fits("inbox", width)
			p.picture(dir + "/web-inbox-" + scheme + "-" + cmp.Or(map[int64]string{360: "360"}[width], "1280") + ".png")
		}
		p.clean()
	}
}
