package web

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// A page's own script decides nothing that its person did not mean: not by keys that were meant for something else, nor by
// clicks below which the page has moved.
func TestBrowser_AdversaryAtTheKeys(t *testing.T) {
	t.Parallel()
	in := chromium(t)
	const click = "void document.querySelector('#row-%s .quick .%s').click()"
	does := func(p *tab, form string, args ...any) {
		t.Helper()
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(form, args...)))
	}
	says := func(p *tab, text string) {
		t.Helper()
		p.until("document.getElementById('notice').textContent.includes('" + text + "')")
	}
	on := func(t *testing.T) *desk {
		d := newDesk(t)
		d.address = d.serve("")
		return d
	}

	t.Run("letters of a reason whose field has gone", func(t *testing.T) {
		d := on(t)
		a, b := d.run("make it\nmake that"), d.run("make other")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		does(p, "void document.querySelector('#row-%s h3 a').click()", a.Code)
		p.until(opened(a.Code))
		p.until("!!document.querySelector('#live')?._htmx?.sse && !!document.querySelector('#detail > div')?._htmx?.sse")
		does(p, "document.querySelector('.note').open = true, document.getElementById('reason').focus(), undefined")
		p.keys("n", "o")
		d.votes("alice", a.Code, approval.Deny)
		p.until("!document.getElementById('reason')")
		p.settled()
		p.keys("j", "u", "s", "t", " ", "a", "d")
		says(p, "The field that you were typing in is gone.")
		require.Empty(t, d.get(b).Votes)
		p.keys(kb.Escape, "j")
		p.settled()
		p.keys("d")
		says(p, "Denied.")
		p.clean()
	})

	t.Run("behind an open dialog", func(t *testing.T) {
		d := on(t)
		a := d.run("make it")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		p.keys("?")
		p.until("document.getElementById('keys').open")
		does(p, "void document.activeElement.blur()")
		p.keys("a", "d", "/")
		require.False(t, evaluate[bool](p, "document.getElementById('palette').open"))
		p.keys(kb.Escape)
		p.until("!document.getElementById('keys').open")
		require.Empty(t, d.get(a).Votes)
	})

	t.Run("what a narrow window hides", func(t *testing.T) {
		d := on(t)
		a := d.run("make it\nmake that")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		p.until(opened(a.Code))
		p.settled()
		p.do(chromedp.EmulateViewport(800, 800))
		p.until("document.getElementById('detail').hidden")
		p.keys("j", "a")
		p.until("location.pathname === '/a/" + a.Code + "'")
		require.Empty(t, d.get(a).Votes)
	})

	t.Run("another request than that of the row which is open", func(t *testing.T) {
		d := on(t)
		a, b := d.run("make it\nmake that"), d.run("make other\nmake that")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		does(p, "void document.querySelector('#row-%s h3 a').click()", a.Code)
		p.until(opened(a.Code))
		p.settled()
		require.True(t, evaluate[bool](p, "globalThis.fetch = () => Promise.reject(new TypeError('away')), "+
			"document.querySelector('#row-"+b.Code+" h3 a').click(), document.getElementById('detail').inert"))
		says(p, b.Code+" could not be opened")
		require.True(t, evaluate[bool](p, "!document.querySelector('#detail .card')"))
	})

	t.Run("more pages than can be live", func(t *testing.T) {
		d := on(t)
		a := d.run("make it")
		for range streamsOfASession {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.address+"/live", nil)
			require.NoError(t, err)
			r.AddCookie(&http.Cookie{Name: "person", Value: "bob"})
			live, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer live.Body.Close()
			require.Equal(t, http.StatusOK, live.StatusCode)
		}
		p := d.open(in, "bob", "/", 360)
		says(p, "Too many pages update by themselves now")
		require.True(t, evaluate[bool](p, stands(a)))
		p.goTo("/a/" + a.Code)
		says(p, "Too many pages update by themselves now")
		p.settled()
		p.keys("a")
		says(p, "Allowed.")
	})

	t.Run("what has come while nobody looked", func(t *testing.T) {
		for name, away := range map[string]struct{ leave, back string }{
			"scrolled away": {"scrollTo(0, document.body.scrollHeight), undefined", ""},
			"in another tab": {"document.dispatchEvent(new Event('visibilitychange')), undefined",
				"document.dispatchEvent(new Event('visibilitychange')), undefined"},
		} {
			d := on(t)
			ask := func(command string, minutes int64) approval.Approval {
				return d.ask("exec", fmt.Sprintf(`{"command":%q}`, command), func(c *approval.Call) { c.TimeoutMs = minutes * 60_000 })
			}
			a := ask("make seen", 10)
			for i := range 25 {
				ask(fmt.Sprintf("make filler%d", i), 40)
			}
			p := d.open(in, "bob", "/", 900)
			p.do(chromedp.EmulateViewport(900, 400))
			p.live()
			p.keys("j")
			p.settled()
			does(p, "%s", away.leave)
			b := ask("make other", 11) // which comes to stand behind a, and has the focus when a goes
			p.until(stands(b))
			d.votes("alice", a.Code, approval.Deny)
			p.until("!" + stands(a))
			p.settled()
			if away.back != "" {
				does(p, "%s", away.back)
			}
			p.keys("a")
			if away.back == "" {
				p.until("document.querySelector('#row-" + b.Code + "').getBoundingClientRect().top > 0")
			} else {
				says(p, "has just changed")
			}
			require.Empty(t, d.get(b).Votes, name)
			p.settled()
			p.keys("a")
			says(p, "Allowed.")
		}
	})

	t.Run("a click where a sentence has moved the rows", func(t *testing.T) {
		d := on(t)
		a, b := d.run("make it"), d.run("make other")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		p.settled()
		d.votes("alice", a.Code, approval.Deny)
		p.until("!document.getElementById('row-" + a.Code + "')")
		p.settled()
		// The first click of two brings a sentence; the second is where another row has come.
		does(p, `document.addEventListener("htmx:after:swap", () => { for (const x of document.querySelectorAll(".quick button")) x.click();
			document.body.dataset.clicked = "1" }, { once: true }), htmx.ajax("POST", "/a/%s/vote", { target: "#notice", swap: "innerHTML", values: { decision: "deny" } }), undefined`, a.Code)
		p.until("document.body.dataset.clicked === '1'")
		says(p, "has just changed")
		p.settled()
		require.Empty(t, d.get(b).Votes)
		does(p, click, b.Code, "deny")
		says(p, "Denied.")
	})
}

// The list stays a list, whatever else its address says.
func TestAdversary_TheInboxStaysLiveAsItself(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("make it")
	page := d.sees("bob", "/?a="+a.Code+"&q=make&risk=R3")
	require.Contains(t, page, `hx-sse:connect="/live?page=1&amp;q=make&amp;risk=R3"`)
}
