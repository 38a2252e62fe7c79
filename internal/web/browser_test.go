package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	devtools "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// patience is how long a page may take to be as it is to be.
const patience = 20 * time.Second

// chromium gives one without a window. Where there is none the test is skipped, and
// fails with APPROVALBOT_REQUIRE_CHROMIUM.
func chromium(t testing.TB) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		program, err = exec.LookPath("chromium-browser")
	}
	switch {
	case err == nil:
	case os.Getenv("APPROVALBOT_REQUIRE_CHROMIUM") != "":
		t.Fatal("chromium is not installed (Debian: chromium), and APPROVALBOT_REQUIRE_CHROMIUM is set")
	default:
		t.Skip("pages in a browser: not tested, install chromium")
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Headless,
		chromedp.NoFirstRun, chromedp.DisableGPU, chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true))
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(ctx))
	return ctx
}

// tab is one tab, signed in as a person of a desk.
type tab struct {
	t   testing.TB
	ctx context.Context
	at  string // the desk's address

	mu        sync.Mutex
	elsewhere []string // requests that left the origin
	trouble   []string // what the console says
}

// open opens a tab on a page.
func (d *desk) open(in context.Context, person, path string, width int64) *tab {
	d.t.Helper()
	ctx, end := chromedp.NewContext(in, chromedp.WithNewBrowserContext())
	d.t.Cleanup(end)
	p := &tab{t: d.t, ctx: ctx, at: "http://" + d.address}
	require.NoError(d.t, chromedp.Listen(ctx, p.heard))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(d.t, err)
	_, err = chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{Name: "person", Value: person, URL: p.at})
	require.NoError(d.t, err)
	_, err = chromedp.Call(ctx, devtools.AddScriptToEvaluateOnNewDocument, devtools.AddScriptToEvaluateOnNewDocumentParams{
		Source: `document.addEventListener("htmx:sse:after:message", () => { window.heard = true; })`})
	require.NoError(d.t, err)
	p.do(chromedp.EmulateViewport(width, 800))
	p.goTo(path)
	return p
}

// heard keeps what a page asks of others, and complains of.
func (p *tab) heard(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.at+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			p.elsewhere = append(p.elsewhere, e.Request.URL)
		}
	case *log.EventEntryAdded:
		refused := strings.Contains(e.Entry.Text, "ERR_CONNECTION_REFUSED")
		if meant := refused || strings.HasSuffix(e.Entry.URL, "/a/ZZZZZZ") || strings.HasSuffix(e.Entry.URL, "/no/such/page"); !meant {
			p.trouble = append(p.trouble, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, e.ExceptionDetails.Text)
	}
}

// clean says that nothing left the desk's origin, and that the console is quiet.
func (p *tab) clean() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.elsewhere, "requests left the origin")
	require.Empty(p.t, p.trouble, "the console complains")
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, steps...))
}

func (p *tab) goTo(path string) { p.t.Helper(); p.do(chromedp.Navigate(p.at + path)) }

// until waits for something to be true on the page, also on the one that it leads to.
func (p *tab) until(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	calm := "(() => { try { return !!(" + expression + ") } catch { return false } })()" // what it asks about may not stand there yet
	look := chromedp.Poll[bool](calm, chromedp.WithPollingInterval(50*time.Millisecond),
		chromedp.WithPollingTimeout(patience))
	_, err := chromedp.Run(ctx, look)
	for err != nil && ctx.Err() == nil && moved(err) {
		_, err = chromedp.Run(ctx, look)
	}
	if err != nil {
		text, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		p.t.Fatalf("never true: %s: %v\n%s", expression, err, text)
	}
}

// evaluate gives what an expression is on the page.
func evaluate[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err)
	return out
}

// keys are pressed one after another.
func (p *tab) keys(all ...string) {
	p.t.Helper()
	for _, k := range all {
		p.do(chromedp.KeyEvent(k))
	}
}

// live waits until the page is connected, and the first message, which draws all of it, is not to come any more.
func (p *tab) live() {
	p.t.Helper()
	p.until(`window.heard && document.getElementById("reconnecting").hidden`)
}

// settled waits until the rows have stood where they are for a moment.
func (p *tab) settled() {
	p.t.Helper()
	p.until(`!document.querySelector("[data-settling]")`)
}

func stands(a approval.Approval) string {
	return fmt.Sprintf("!!document.getElementById('row-%s')", a.Code)
}

// opened says that the page of a request is open beside the list.
func opened(code string) string {
	return "document.querySelector('#detail [data-code]').dataset.code === '" + code + "'"
}

// What a person does with the pages, in a real browser.
func TestBrowser(t *testing.T) {
	t.Parallel()
	in := chromium(t)
	on := func(t *testing.T, url string) *desk {
		d := openDesk(t, url)
		d.address = d.serve("")
		return d
	}
	const memory = "sqlite::memory:"

	t.Run("a vote by keyboard", func(t *testing.T) {
		d := on(t, memory)
		a, b := d.run("terraform plan -out p"), d.run("make it")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		require.True(t, evaluate[bool](p, stands(a)+"&&"+stands(b)))
		first := d.codes()[0]
		p.keys("j")
		require.Equal(t, "row-"+first, evaluate[string](p, "document.activeElement.id"))
		p.keys("j", "k")
		require.Equal(t, "row-"+first, evaluate[string](p, "document.activeElement.id"))
		p.keys("a")
		p.until("document.getElementById('notice').textContent.includes('Allowed. It may run once')")
		p.until("!document.getElementById('row-" + first + "')")
		p.until("document.title.includes('1 · Inbox')")
		p.until("document.activeElement.hasAttribute('data-row')")
		p.settled()
		p.keys("d")
		p.until("document.getElementById('notice').textContent.includes('Denied.')")
		p.until("!!document.querySelector('.empty')")
		p.clean()
	})

	t.Run("keys that are typed into the palette decide nothing", func(t *testing.T) {
		d := on(t, memory)
		a := d.run("make it")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		p.keys("j", "/")
		p.until("document.getElementById('palette').contains(document.activeElement)")
		p.keys("a", "d", "?")
		require.True(t, strings.HasSuffix(evaluate[string](p, "document.activeElement.value"), "ad?"))
		require.Empty(t, d.get(a).Votes)
		p.keys(kb.Escape)
		p.until("!document.getElementById('palette').open")
		p.keys("?")
		p.until("document.getElementById('keys').open")
		p.keys(kb.Escape)
		p.until("!document.getElementById('keys').contains(document.activeElement)")
		p.keys("/", "h", "e", "a", "l", kb.Enter)
		p.until("location.pathname === '/health'")
		p.goTo("/")
		p.keys("/")
		for _, letter := range a.Code {
			p.keys(string(letter))
		}
		p.keys(kb.Enter)
		p.until("location.pathname === '/a/" + a.Code + "'")
		p.clean()
	})

	t.Run("a row opens beside the list, and where there is no room on its own page", func(t *testing.T) {
		d := on(t, memory)
		a, b := d.run("make it"), d.run("make other")
		first, second := d.codes()[0], d.codes()[1]
		require.ElementsMatch(t, []string{a.Code, b.Code}, []string{first, second})
		p := d.open(in, "bob", "/", 1280)
		p.live()
		p.until(opened(first))
		p.keys("j", "j")
		p.until(opened(second))
		require.Equal(t, "/", evaluate[string](p, "location.pathname"))
		p.do(chromedp.Evaluate[chromedp.Void]("void document.querySelector('#row-" + first + " h3 a').click()"))
		p.until(opened(first))
		p.do(chromedp.EmulateViewport(800, 800))
		p.until("document.getElementById('detail').hidden")
		p.keys(kb.Enter)
		p.until("location.pathname === '/a/" + first + "'")
		p.clean()
	})

	t.Run("a decision takes three keys at most, and no button allows R4 in one", func(t *testing.T) {
		d := on(t, memory)
		grave, long, mild := d.run("terraform destroy -auto-approve"), d.run("make it\nmake that\nmake those"), d.run("make it")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		p.until(opened(grave.Code))
		require.Empty(t, evaluate[[]string](p, `[...document.querySelectorAll("button[value^=allow-]")].filter(b =>
			b.checkVisibility() && b.closest("[data-row], .card").matches(".risk-R4")).map(b => b.outerHTML)`))
		p.keys("j")
		p.settled()
		p.keys("a")
		p.until("document.querySelector('#approval details.confirm').open && document.activeElement.name === 'confirm'")
		require.Empty(t, d.get(grave).Votes)
		require.Contains(t, evaluate[string](p, "document.querySelector('.sure').innerText"), "terraform destroy -auto-approve")
		p.settled()
		p.keys(kb.Enter)
		p.until("document.getElementById('notice').textContent.includes('Counted (1 of 2 yes')")
		require.Len(t, d.get(grave).Votes, 1)
		// What is not whole in its row is allowed beside it.
		p.until("document.activeElement.hasAttribute('data-row')")
		p.until(opened(long.Code) + "||" + opened(mild.Code))
		for range 2 {
			at := evaluate[string](p, "document.activeElement.id.slice(4)")
			p.until(opened(at))
			p.settled()
			p.keys("a")
			p.until("document.getElementById('notice').textContent.includes('" + at + ": Allowed.')")
			p.until("!document.getElementById('row-" + at + "') && document.activeElement.hasAttribute('data-row')")
		}
		require.Equal(t, approval.Approved, d.get(long).Status)
		require.Equal(t, approval.Approved, d.get(mild).Status)
		p.clean()
	})

	t.Run("what was allowed is taken back while nothing has claimed it", func(t *testing.T) {
		d := on(t, memory)
		a := d.run("make it")
		p := d.open(in, "bob", "/", 360)
		p.live()
		p.keys("j", kb.Enter)
		p.until("location.pathname === '/a/" + a.Code + "'")
		p.live()
		p.keys("a")
		p.until("!!document.querySelector('#notice button')")
		p.do(chromedp.Click("#notice button"))
		p.until("document.getElementById('notice').textContent.includes('Taken back. It will not run.')")
		require.NotZero(t, d.get(a).RevokedAtMs)
		p.until("!document.querySelector('#approval button.deny')")
		p.clean()
	})

	t.Run("fifteen rows are seen at once on 900 pixels, and fingers meet rows", func(t *testing.T) {
		d := on(t, memory)
		for i := range 30 {
			d.run(fmt.Sprintf("make it-%d", i))
		}
		p := d.open(in, "bob", "/", 1440)
		p.do(chromedp.EmulateViewport(1440, 900))
		p.live()
		seen := `[...document.querySelectorAll("[data-row]")].filter(r => r.getBoundingClientRect().bottom <= innerHeight).length`
		require.GreaterOrEqual(t, evaluate[int](p, seen), 15)
		p.do(chromedp.EmulateViewport(360, 800))
		require.GreaterOrEqual(t, evaluate[float64](p, `Math.min(...[...document.querySelectorAll("[data-row]")].map(r => r.offsetHeight))`), 44.0)
		require.LessOrEqual(t, evaluate[float64](p, `document.querySelector(".top").offsetHeight`), 56.0)
	})

	t.Run("what others do is seen at once, and what is typed stays", func(t *testing.T) {
		d := on(t, memory)
		a := d.ask("exec", `{"command":"terraform destroy x"}`)
		p := d.open(in, "bob", "/", 1280)
		q := d.open(in, "bob", "/a/"+a.Code, 1280)
		p.live()
		q.live()
		b := d.run("make more")
		p.until(stands(b))
		q.do(chromedp.Evaluate[chromedp.Void]("void (document.querySelector('.note').open = true)"), chromedp.SendKeys("#reason", "not on a Friday"))
		d.sees("alice", "/a/"+a.Code)
		require.Equal(t, http.StatusSeeOther, d.votes("alice", a.Code, approval.AllowOnce).Code)
		q.until("document.querySelector('.state').textContent.includes('1 of 2 yes (alice)')")
		require.Equal(t, "not on a Friday", evaluate[string](q, "document.getElementById('reason').value"))
		d.votes("erin", a.Code, approval.Deny)
		p.until("!" + stands(a))
		q.until("document.querySelector('.outcome').textContent.includes('Denied by erin')")
		p.clean()
		q.clean()
	})

	t.Run("a restart is said, and then the page is true again", func(t *testing.T) {
		at := "sqlite:" + t.TempDir() + "/desk.db"
		d := on(t, at)
		a := d.run("make it")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		d.stop()
		p.until("!document.getElementById('reconnecting').hidden")
		next := openDesk(t, at)
		next.votes("bob", a.Code, approval.Deny)
		b := next.run("make other")
		next.address = next.serve(d.address)
		p.until("document.getElementById('reconnecting').hidden")
		p.until(stands(b) + "&& !" + stands(a))
		p.settled()
		p.keys("j", "a")
		p.until("document.getElementById('notice').textContent.includes('Allowed.')")
		require.Equal(t, approval.Approved, next.get(b).Status)
	})

	t.Run("a click on what has only just come decides nothing", func(t *testing.T) {
		d := on(t, memory)
		d.run("make it")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		p.do(chromedp.Evaluate[chromedp.Void](`void document.getElementById("live").addEventListener("htmx:sse:after:message", () => {
			if (document.body.dataset.clicked || document.querySelectorAll("[data-row]").length < 2) return; // a later message changes nothing
			for (const b of document.querySelectorAll("[data-row] button")) b.click();
			document.body.dataset.clicked = document.querySelectorAll("[data-row] button.allow").length;
		})`))
		b := d.run("make more")
		p.until("document.body.dataset.clicked === '2'")
		p.until("document.getElementById('notice').textContent.includes('has just changed')")
		p.settled()
		require.Equal(t, approval.Pending, d.get(b).Status)
		p.do(chromedp.Evaluate[chromedp.Void]("void document.querySelector('#row-" + b.Code + " button.allow').click()"))
		p.until("document.getElementById('notice').textContent.includes('Allowed.')")
		require.Equal(t, approval.Approved, d.get(b).Status)
		p.clean()
	})

	t.Run("the whole call is downloaded, and then the button comes", func(t *testing.T) {
		d := on(t, memory)
		a := d.ask("write", `{"path":"x","content":"`+strings.Repeat("all work and no play\\n", 8000)+`"}`)
		p := d.open(in, "bob", "/a/"+a.Code, 360)
		p.live()
		require.False(t, evaluate[bool](p, "!!document.querySelector('button.allow')"))
		p.do(chromedp.Evaluate[chromedp.Void]("fetch(document.querySelector('[data-download]').href).then(r => r.text())", chromedp.EvalAwaitPromise))
		p.until("!!document.querySelector('button.allow')")
		p.clean()
	})

	t.Run("the browser itself verifies a receipt", func(t *testing.T) {
		d := on(t, memory)
		claimed := func(command string) approval.Approval {
			a := d.run(command)
			d.sees("bob", "/a/"+a.Code)
			d.votes("bob", a.Code, approval.AllowOnce)
			_, err := d.gate.Claim(t.Context(), deployer, a.ID, core.ClaimInput{})
			require.NoError(t, err)
			return a
		}
		a, b := claimed("make it"), claimed("make other")
		p := d.open(in, "alice", "/a/"+b.Code, 1280)
		other := evaluate[string](p, "document.querySelector('[data-receipt]').textContent")
		p.goTo("/a/" + a.Code)
		p.live()
		verified := func(receipt, says string) { // a live message may draw over either, so it is done until it stands there
			t.Helper()
			p.until("(() => { const said = document.querySelector('[data-verified]').textContent;" +
				"if (said.includes('" + says + "')) return true;" +
				"document.querySelector('[data-receipt]').textContent = '" + receipt + "';" +
				"document.querySelector('[data-verify]').click(); return false })()")
		}
		own := evaluate[string](p, "document.querySelector('[data-receipt]').textContent")
		verified(own, "✅ Signed by this desk, for this very call.")
		verified(other, "⛔ It is a good receipt, of another call.")
		head, rest, _ := strings.Cut(other, ".")
		verified(head+".e30"+rest, "⛔ The signature does not fit")
		p.clean()
	})

	t.Run("the second of two tabs is told", func(t *testing.T) {
		d := on(t, memory)
		a := d.run("make it")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		p.do(chromedp.Evaluate[chromedp.Void]("document.getElementById('live').remove()")) // it learns of nothing
		d.sees("alice", "/a/"+a.Code)
		d.votes("alice", a.Code, approval.AllowOnce)
		p.keys("j", "d")
		p.until("document.getElementById('notice').textContent.includes('Already decided: allowed once by alice')")
		d.end("bob")
		p.settled()
		p.keys("d")
		p.until("location.pathname === '/signin'")
	})

	t.Run("a session that ends leaves no page open", func(t *testing.T) {
		d := on(t, memory)
		a := d.run("make it")
		p := d.open(in, "bob", "/", 1280)
		p.live()
		d.end("bob")
		d.run("make news")
		p.until("location.pathname === '/signin'")
		require.Equal(t, "/signin", d.votes("bob", a.Code, approval.Deny).Header().Get("Location"))
	})
}

// Pages fit a phone, are readable for everybody in light and dark, and run nothing that
// is in a call. With APPROVALBOT_PICTURES=folder each is drawn there.
func TestBrowser_EveryPage(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	require.NoError(t, err)
	in := chromium(t)
	d, empty := newDesk(t), newDesk(t)
	all := []struct {
		desk  *desk
		pages map[string]string
	}{{d, d.furnish()}, {empty, map[string]string{"empty-inbox": "/", "empty-history": "/history", "empty-grants": "/grants",
		"empty-numbers": "/numbers", "empty-audit": "/audit"}}}
	for _, one := range all {
		one.desk.address = one.desk.serve("")
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{360, 1280} {
				p := one.desk.open(in, "alice", "/", width)
				p.in(scheme)
				for name, path := range one.pages {
					p.goTo(path)
					p.fits(name+" "+scheme, width)
					if width == 360 || path == "/" { // elsewhere what axe looks for is the same at any width
						require.Empty(t, p.barriers(string(axe)), name+" "+scheme)
					}
					if dir := os.Getenv("APPROVALBOT_PICTURES"); dir != "" {
						p.picture(fmt.Sprintf("%s/page-%s-%s-%d.png", dir, name, scheme, width))
					}
				}
			}
		}
	}
}

// in has the page drawn in light or dark.
func (p *tab) in(scheme string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	require.NoError(p.t, err)
}

// fits says that a page has nothing that sticks out, and that nothing of a call has become more than text.
func (p *tab) fits(where string, width int64) {
	p.t.Helper()
	where += fmt.Sprint(" ", width)
	if width >= 1100 { // what waits first is open beside the list
		p.until("!document.querySelector('[data-mine]') || !!document.querySelector('#detail .card')")
	}
	require.Empty(p.t, p.wide(), where)
	require.False(p.t, evaluate[bool](p, "!!globalThis.pwned || !!document.querySelector('b.evil, img, iframe')"), where)
	p.clean()
}

func (p *tab) picture(file string) {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(file, png, 0o600))
}

// The README's picture of the inbox, in APPROVALBOT_README_PICTURES; elsewhere the page is looked at alone.
func TestBrowser_ReadmePicture(t *testing.T) {
	t.Parallel()
	in := chromium(t)
	d := newDesk(t)
	ask := func(tool, params, why string) approval.Approval {
		return d.ask(tool, params, func(c *approval.Call) { c.Justification = why })
	}
	grave := ask("exec", `{"command":"kubectl --context prod delete namespace staging","workdir":"/srv/infra"}`, "it is stuck terminating")
	d.sees("bob", "/a/"+grave.Code)
	d.votes("bob", grave.Code, approval.AllowOnce)
	ask("exec", `{"command":"git push origin main","workdir":"/srv/app"}`, "the review is done")
	ask("edit", `{"path":"/srv/app/values.yaml","old_string":"\ttimeout: 30\n","new_string":"\ttimeout: 300\n"}`, "uploads time out")
	ask("exec", `{"command":"npm publish --access public"}`, "release 2.4.1")
	ask("mcp__stripe__create_refund", `{"charge":"ch_3N","amount":24990,"currency":"eur"}`, "the customer returned it")
	ask("message", `{"action":"send","to":"#general","message":"v2.4.1 is out, see the notes."}`, "")
	ask("exec", `{"command":"make deploy"}`, "")
	d.address = d.serve("")
	p := d.open(in, "alice", "/", 1280)
	p.do(chromedp.EmulateViewport(1280, 640))
	p.goTo("/")
	p.live()
	p.until(opened(grave.Code))
	if dir := os.Getenv("APPROVALBOT_README_PICTURES"); dir != "" {
		png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(dir+"/inbox.png", png, 0o644))
	}
	p.clean()
}

// Without a script the list leads to pages, and their forms decide, also what takes a second step.
func TestBrowser_WithoutScript(t *testing.T) {
	t.Parallel()
	in := chromium(t)
	d := newDesk(t)
	a := d.run("terraform destroy -auto-approve")
	d.address = d.serve("")
	p := d.open(in, "bob", "/", 1280)
	_, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	p.goTo("/")
	require.True(t, evaluate[bool](p, "document.getElementById('detail').hidden"))
	p.do(chromedp.Click("#row-" + a.Code + " h3 a"))
	p.until("location.pathname === '/a/" + a.Code + "'")
	p.do(chromedp.Click("details.confirm > summary"), chromedp.Click("details.confirm button"))
	p.until("document.getElementById('notice').textContent.includes('Counted (1 of 2 yes')")
	require.Len(t, d.get(a).Votes, 1)
	p.do(chromedp.Click(".menu > summary"), chromedp.Click(".menu a"))
	p.until("location.pathname === '/policy'")
}

// wide are elements that stick out of the page to the right: it would scroll sideways.
func (p *tab) wide() []string {
	p.t.Helper()
	return evaluate[[]string](p, `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
		.filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 4).map(e => e.outerHTML.slice(0, 150))`)
}

// barriers are what axe finds that would keep somebody from using the page.
func (p *tab) barriers(axe string) []string {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](axe + ";0"))
	return evaluate[[]string](p, `axe.run(document).then(r => r.violations.map(v => v.id + ": " +
		v.nodes.map(n => n.html.slice(0, 120) + " " + n.any.map(a => a.message).join()).slice(0, 3).join(" | ")))`)
}

// furnish fills a desk with what calls can hold, bad words too, and gives its pages.
func (d *desk) furnish() map[string]string {
	evil := `</code><script>pwned=1</script><b class="evil">x</b><img src=x onerror=pwned=1>` + "\u202etxt.exe\u200b"
	text, err := json.Marshal(evil)
	require.NoError(d.t, err)
	short := string(text)
	shell := d.ask("exec",
		`{"command":"cd /srv/infra && terraform apply -auto-approve plan.out | tee \"out $HOME.log\"","workdir":"/srv/infra"}`,
		func(c *approval.Call) {
			c.Justification = "weekly patch run, plan was reviewed in #214"
			c.Requester = &approval.Requester{Person: "carol"}
		})
	d.sees("bob", "/a/"+shell.Code)
	d.votes("bob", shell.Code, approval.AllowOnce)
	bad := d.ask("frobnicate", `{"x":`+short+`,"`+"k\u202e<i>"+`":`+short+`,"deep":{"a":[1,2,{"b":`+short+`}]}}`,
		func(c *approval.Call) {
			c.Justification, c.ActionSummary, c.SessionKey = evil, evil, "s"+evil
		})
	diff := d.ask("edit",
		`{"path":"/srv/app/config.yaml","old_string":"\tlisten: 127.0.0.1\n\tport: 80\n`+strings.Repeat(`\tmore: x\n`, 20)+
			`","new_string":"\tlisten: 0.0.0.0\n\tport: 80\n`+strings.Repeat(`\tmore: x\n`, 20)+`"}`)
	var script strings.Builder
	script.WriteString("#!/bin/bash\nset -euo pipefail\n")
	for i := range 60 {
		fmt.Fprintf(&script, "aws s3 cp dist/part-%d.tgz s3://releases/part-%d.tgz\n", i, i)
	}
	script.WriteString("rm -rf /var/lib/releases\n")
	lines, err := json.Marshal(map[string]string{"command": script.String(), "workdir": "/srv/infra"})
	require.NoError(d.t, err)
	release := d.ask("exec", string(lines), func(c *approval.Call) { c.Justification = "release" })
	nested := d.ask("mcp__jira__create_issue", `{"notify":true,"fields":{"project":{"key":"OPS"},"summary":"Disk is full on db-3",
		"labels":["disk","urgent"],"budget":{"amount":"249.90","currency":"EUR"}}}`)
	question := d.ask("AskUserQuestion", `{"questions":[{"question":"Which colour shall the button have?","header":"Colour","multiSelect":false,
		"options":[{"label":"Green","description":"as the others"},{"label":"Blue","description":""}]}]}`)
	long := d.ask("write", `{"path":"x","content":"`+strings.Repeat("W", 200_000)+`"}`)
	for i := range 4 {
		d.run("make target-" + fmt.Sprint(i))
	}
	ended := d.run("make it")
	d.sees("alice", "/a/"+ended.Code)
	d.votes("alice", ended.Code, approval.AllowOnce)
	_, err = d.gate.Claim(d.t.Context(), deployer, ended.ID, core.ClaimInput{})
	require.NoError(d.t, err)
	denied := d.run("make nothing")
	d.votes("bob", denied.Code, approval.Deny)
	return map[string]string{
		"inbox": "/", "shell": "/a/" + shell.Code, "evil": "/a/" + bad.Code, "diff": "/a/" + diff.Code,
		"script": "/a/" + release.Code, "values": "/a/" + nested.Code, "question": "/a/" + question.Code,
		"long":  "/a/" + long.Code,
		"ended": "/a/" + ended.Code, "denied": "/a/" + denied.Code, "history": "/history?status=pending", "grants": "/grants",
		"policy": "/policy", "people": "/people", "numbers": "/numbers", "audit": "/audit", "health": "/health",
		"unknown": "/a/ZZZZZZ", "missing": "/no/such/page", "me": "/me", "passkeys": "/me/passkeys", "notifications": "/me/push",
		"sign": "/a/" + shell.Code + "/sign", "dialog": "/dialog/" + nested.Code,
	}
}

// moved reports whether the page went elsewhere while it was looked at.
func moved(err error) bool {
	return strings.Contains(err.Error(), "navigated") || strings.Contains(err.Error(), "Cannot find context")
}
