package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/signin"
)

// Script, markup and characters that hide or turn text around are inert and flagged,
// wherever an asker can put them, on every page that shows them.
func TestAdversary_N5_WordsOfAskers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	evil := "\u202e</code></script><script>alert(1)</script><b onclick=x>\"'\u200b"
	text, err := json.Marshal(evil)
	require.NoError(t, err)
	word, key := string(text), strings.ReplaceAll(string(text), `"`, "")
	key = strings.ReplaceAll(key, `\`, "_")
	a := d.ask("frobnicate", `{"a":`+word+`,"`+key+`":[`+word+`,{"`+key+`":`+word+`}]}`, func(c *approval.Call) {
		c.Justification, c.ActionSummary, c.SessionKey, c.AgentID = evil, evil, evil, evil
		c.Context.Tool.Server, c.Context.Tool.Description = evil, evil
		c.Bind = &approval.Bind{Workdir: &evil}
	})
	d.votes("bob", a.Code, approval.Deny)
	b := d.ask("exec", `{"command":`+word+`,"env":{"X":`+word+`}}`, func(c *approval.Call) { c.Justification = evil })
	for _, path := range []string{"/", "/?q=" + "%3Cscript%3Ealert(1)", "/a/" + a.Code, "/a/" + b.Code, "/history",
		"/history?q=%22%3E%3Cscript%3Ealert(1)",
		"/grants", "/numbers", "/audit", "/people"} {
		page := d.sees("alice", path)
		require.NotContains(t, page, "<script>alert", path)
		require.NotContains(t, page, "<b onclick", path)
		require.NotContains(t, page, "\u202e", path)
		require.NotContains(t, page, "\u200b", path)
	}
	page := d.sees("alice", "/a/"+b.Code)
	require.Contains(t, page, `<span class="t-hidden">\u{202E}</span>`)
	require.Contains(t, page, "hidden characters")
	out := d.asks("alice", http.MethodGet, "/a/%3Cscript%3Ealert(1)", nil)
	require.Equal(t, http.StatusNotFound, out.Code)
	require.NotContains(t, out.Body.String(), "<script>alert")
}

// A JSON value can write as an escape what may not be seen; the table of values flags it all the same.
func TestAdversary_N5_EscapesInATable(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("frobnicate", `{"a\u202e":["x\u202e",{"b":"y\u202e"}]}`)
	page := d.sees("alice", "/a/"+a.Code)
	require.NotContains(t, page, "\u202e")
	require.Equal(t, 2, strings.Count(page, `<span class="t-hidden">\u{202E}</span>`), page)
}

// The longest call that a desk takes is cut, with the whole as a file, and nothing is
// allowed unread; ten megabytes it does not take.
func TestAdversary_N5_VeryMuch(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	filled := func(n int) string { return `{"path":"x","content":"` + strings.Repeat("<i>\u202e", n/6) + `"}` }
	a := d.ask("write", filled(250_000))
	for _, path := range []string{"/", "/a/" + a.Code, "/history"} {
		page := d.sees("bob", path)
		require.Less(t, len(page), 2<<20, path)
		require.NotContains(t, page, `value="allow-once"`, path)
	}
	require.Equal(t, http.StatusConflict, d.votes("bob", a.Code, approval.AllowOnce).Code)
	file := d.asks("bob", http.MethodGet, "/a/"+a.Code+"/call", nil).Body.String()
	require.Equal(t, 250_000/6, strings.Count(file, `\u{202E}`))
	_, _, err := d.gate.Submit(t.Context(), deployer, approval.Call{ToolName: "write",
		Params: json.RawMessage(filled(10 << 20))})
	require.Equal(t, approval.CodePayloadTooLarge, approval.CodeOf(err))
}

// With all colours and marks the pieces of a call are all of it, and nothing else.
func TestColoursChangeNoText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a", "a\n", "\n\n", `cd "/x y" && rm -rf "$HOME" | tee 'a b' > /dev/null; echo \"`, "a 'b\nc' d",
		`\u{202E}x\u{A}`, "  x  ",
		"&&", "a&&b", "x=1 y", "+a\n-b\n@@ c\n--- d", "é ü 漢字 $(x)",
	} {
		b := card.Block{}
		for i, s := range strings.Split(text, "\n") {
			half := len([]rune(s)) / 2
			b.Lines = append(b.Lines, card.Line{No: i + 1, Pieces: []card.Piece{
				{Text: string([]rune(s)[:half])}, {Text: string([]rune(s)[half:]), Marked: true},
			}})
		}
		for _, tool := range []string{"exec", "frobnicate"} {
			all, cut := parts(approval.Approval{Asked: approval.Asked{ToolName: tool}}, []card.Block{b}, maxOnPage)
			require.False(t, cut)
			var out []string
			for _, l := range all[0].Stretches[0].Lines {
				s := ""
				for _, p := range l.Pieces {
					s += p.Text
				}
				out = append(out, s)
			}
			require.Equal(t, text, strings.Join(out, "\n"), tool)
		}
	}
}

// Of a change all lines are on the page; those that are far from what changes can be unfolded.
func TestAChangeIsWholeOnItsPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var old []string
	for i := range 40 {
		old = append(old, fmt.Sprintf("\ttimeout_%d: %d", i, 10*i))
	}
	fresh := slices.Clone(old)
	fresh[20] = "\ttimeout_20: 999"
	params, err := json.Marshal(map[string]string{"path": "/srv/app/values.yaml", "old_string": strings.Join(old, "\n"), "new_string": strings.Join(fresh, "\n")})
	require.NoError(t, err)
	page := d.sees("bob", "/a/"+d.ask("edit", string(params)).Code)
	require.Contains(t, page, "<summary>17 unchanged lines</summary>")
	require.Contains(t, page, `<b class="changed">200</b>`)
	require.Contains(t, page, `<b class="changed">999</b>`)
	require.NotContains(t, page, `\u{9}`)
	for _, line := range append(old[:20:20], old[21:]...) {
		require.Contains(t, page, line)
	}
}

// With very much that waits a page shows the most urgent part, and leads on.
func TestInbox_Pages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range 2*inboxRows + 1 {
		d.run("make it " + strings.Repeat("x", i+1))
	}
	seen := 0
	for _, path := range []string{"/", "/?page=2", "/?page=3", "/?page=99"} {
		seen += strings.Count(d.sees("bob", path), `id="row-`)
	}
	require.Equal(t, 2*inboxRows+2, seen, "the last page once more where there is no such page")
	require.Contains(t, d.sees("bob", "/?q=make&page=2"), "page 2 of 3, 101 in all")
}

// With more than is read for one look the page says so, and leads to the others, the riskiest first.
func TestInbox_ReadsSoManyAtATime(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	worst := d.run("sudo rm -rf /srv")
	for i := range inboxMost + 1 {
		d.run("make it " + strings.Repeat("x", i+1))
	}
	page := d.sees("bob", "/")
	require.Contains(t, page, "page 1 of 20, 1000+ in all")
	require.Contains(t, page, `id="row-`+worst.Code, "although it is the oldest")
	older := regexp.MustCompile(`href="(/\?cursor=[^"]+)">Further requests`).FindStringSubmatch(page)
	require.NotNil(t, older)
	page = d.sees("bob", older[1])
	require.Equal(t, 2, strings.Count(page, `id="row-`))
	require.Contains(t, page, `href="/">The riskiest requests`)
	require.NotContains(t, page, "Further requests")
}

// An open page of somebody who is removed ends with the next look.
func TestAdversary_N6_AnOpenPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.run("make it")
	d.end("bob")
	out := d.asks("bob", http.MethodGet, "/live", nil)
	require.NotContains(t, out.Body.String(), "make")
	require.Contains(t, out.Body.String(), "event: signedout")
}

// An open page shows nothing of a request that its reader may not see.
func TestAdversary_I13_AnOpenPageOfOthers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("make secret-target")
	got, err := d.web.live.current(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/live?a="+a.Code, nil),
		d.web.reader(signin.Session{ID: "1", Person: "dave"}))
	require.NoError(t, err)
	require.NotContains(t, string(got), "secret-target")
	require.Contains(t, string(got), "no such request")
}
