package web

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// The note of an R4 call's page goes with the second step and with no other click, and it is shown to who decides next.
func TestVote_ANoteWithTheSecondStep(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("exec", `{"command":"terraform destroy x"}`)
	d.sees("bob", "/a/"+a.Code)
	form := url.Values{"decision": {"allow-once"}, "note": {"the test stack only"}}
	once := d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote", form)
	require.Equal(t, http.StatusConflict, once.Code)
	require.Empty(t, d.get(a).Votes)
	require.Empty(t, d.get(a).Drafts, "a page's note is typed on the page that confirms")
	form.Set("confirm", "allow-once")
	require.Equal(t, http.StatusSeeOther, d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote", form).Code)
	require.Contains(t, d.sees("alice", "/a/"+a.Code), "the test stack only")
	require.Equal(t, http.StatusSeeOther, d.votes("alice", a.Code, approval.AllowOnce).Code)
	require.Equal(t, []approval.Note{{By: "person:bob", Text: "the test stack only"}}, d.get(a).Notes())
}

// Where a yes is signed the page has no field for a note, since the passkey does not sign it; a deny takes one.
func TestSignAYes_WithoutANote(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	key := d.enrol(t, "alice")
	a := d.submit(t, `{"target":"prod"}`)
	v := d.visit(t, "alice.link")
	_, page := v.get("/a/" + a.Code + "/sign")
	require.NotContains(t, page, `name="note"`)
	var asked, said told
	require.Equal(t, http.StatusOK, v.post("/a/"+a.Code+"/stepup/begin", shownOf(a), &asked))
	yes := map[string]any{"nonce": asked.Nonce, "note": "run the tests first", "response": key.Sign(t, d.site, challengeOf(t, asked))}
	status := v.post("/a/"+a.Code+"/stepup/finish", yes, &said)
	got, err := d.ByKey(t.Context(), a.Key)
	require.NoError(t, err)
	require.Empty(t, got.Notes(), "%d", status)
}

// Enter in a field of the page decides nothing: a browser would take it for a click on the form's first button, which
// allows, also the one that is the second step.
func TestBrowser_EnterInAFieldDecidesNothing(t *testing.T) {
	t.Parallel()
	in := chromium(t)
	d := openDesk(t, "sqlite::memory:")
	d.address = d.serve("")
	for _, command := range []string{"make it", "terraform destroy x"} {
		a := d.ask("exec", `{"command":"`+command+`"}`)
		p := d.open(in, "bob", "/a/"+a.Code, 1280)
		p.live()
		p.do(chromedp.Click("details.note summary"), chromedp.SendKeys(`input[name="note"]`, "tests first"+kb.Enter), chromedp.SendKeys("#reason", "fine"+kb.Enter))
		p.do(chromedp.Evaluate[chromedp.Void]("fetch(location.href).then((r) => r.text())", chromedp.EvalAwaitPromise)) // after anything that Enter sent
		require.Empty(t, d.get(a).Votes, command)
		if command == "make it" {
			p.do(chromedp.Click(`form.decide button[value="allow-once"]`))
			p.until("document.getElementById('notice').textContent.includes('Allowed. It may run once')")
			require.Equal(t, []approval.Note{{By: "person:bob", Text: "tests first"}}, d.get(a).Notes())
		}
		p.clean()
	}
}
