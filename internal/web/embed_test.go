package web

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// browserTime is how long a test with Chromium may take: it says that it hangs, not how fast it is.
const browserTime = 3 * time.Minute

// startChromium starts a browser without a window, for which every name of test is this
// machine. It takes that origin for as safe as one with TLS.
func startChromium(t *testing.T, safe string) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	switch {
	case program != "":
	case os.Getenv("APPROVALBOT_REQUIRE_CHROMIUM") != "":
		t.Fatal("chromium is not installed")
	default:
		t.Skip("the dialog in other people's pages: not tested, install chromium")
	}
	profile := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.UserDataDir(profile), chromedp.Flag("host-resolver-rules", "MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost"),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("unsafely-treat-insecure-origin-as-secure", safe))
	ctx, cancel := context.WithTimeout(t.Context(), browserTime)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancel() })
	require.NoError(t, chromedp.Do(ctx))
	return ctx
}

// as is the same server under another name.
func as(t *testing.T, address, host string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

// webChat starts the example, which asks that desk, for pages at the desk's other name. It
// gives the address that it prints.
func webChat(t *testing.T, desk, pages string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("the dialog in other people's pages: not tested, install node")
	}
	program, err := filepath.Abs("../../examples/web-chat/server.mjs")
	require.NoError(t, err)
	c := exec.Command(node, program)
	c.Env = append(os.Environ(), "APPROVALBOT_SERVER="+desk, "APPROVALBOT_TOKEN=agent-s3cret-s3cret", "APPROVALBOT_PAGES="+pages,
		"HOST=127.0.0.1", "PORT=0", "NO_PROXY=*")
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// embedded is a desk, the example's chat on another site, and a browser that is signed in
// at the desk as alice.
type embedded struct {
	*dialogDesk
	desk string // as the browser knows it
	chat *window

	mu     sync.Mutex
	broken []string // what the chat's page logged as an error
}

// window is one window of the browser.
type window struct {
	t   *testing.T
	ctx context.Context
}

func newEmbedded(t *testing.T) *embedded {
	t.Helper()
	e := &embedded{dialogDesk: newDialogDesk(t)}
	e.desk = as(t, e.url, "desk.alpha.test")
	e.chat = &window{t, startChromium(t, e.desk)}
	public, err := url.Parse(e.desk)
	require.NoError(t, err)
	e.web.ReachedAt(public)
	at := as(t, webChat(t, e.url, e.desk), "chat.beta.test")
	e.web.dialogs.origins, e.web.viewers.origins = []string{at}, []string{at}
	require.NoError(t, chromedp.Listen(e.chat.ctx, func(event any) {
		e.mu.Lock()
		defer e.mu.Unlock()
		switch x := event.(type) {
		case *log.EventEntryAdded:
			if x.Entry.Level == "error" {
				e.broken = append(e.broken, x.Entry.Text+" "+x.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			e.broken = append(e.broken, x.ExceptionDetails.Text)
		}
	}))
	call(e.chat, network.SetCookie, network.SetCookieParams{Name: "person", Value: "alice", URL: e.desk, SameSite: network.CookieSameSiteLax})
	e.chat.open(at)
	e.chat.until(theList)
	return e
}

// call has the browser do what its protocol names.
func call[P, R any](b *window, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, command, params)
	require.NoError(b.t, err)
	return r
}

func (b *window) open(address string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate(address)))
}

// eval gives what a script says in the page, or what its promise does.
func eval[T any](b *window, script string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, append(options, chromedp.EvalAwaitPromise)...))
	require.NoError(b.t, err, script)
	return v
}

func asPerson(p *runtime.EvaluateParams) { yes := true; p.UserGesture = &yes }

// until waits until a script says true in the page.
func (b *window) until(script string) {
	b.t.Helper()
	for b.ctx.Err() == nil {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`Boolean(`+script+`)`))
		if err == nil && ok { // a page that is just being left has no answer
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatal("it never came true: ", script)
}

// click clicks into the middle of what a script gives, as a mouse does.
func (b *window) click(script string) {
	b.t.Helper()
	b.until(script)
	at := eval[struct{ X, Y float64 }](b, `(() => { const b = `+script+`; b.scrollIntoView({block: "center"});
		const r = b.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2} })()`)
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.MouseClickXY(at.X, at.Y)))
}

// opens gives the window that opens, at an address with those words, while something is done.
func (b *window) opens(words string, do func()) *window {
	b.t.Helper()
	opened := chromedp.WaitNewTarget(b.ctx, func(i *target.Info) bool { return strings.Contains(i.URL, words) })
	do()
	select {
	case id := <-opened:
		ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
		b.t.Cleanup(cancel)
		next := &window{b.t, ctx}
		call(next, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return next
	case <-b.ctx.Done():
		b.t.Fatal("no window was opened")
		return nil
	}
}

const (
	theList   = `document.querySelector("approval-dialog").shadowRoot`
	theButton = theList + `.querySelector("button")`
	allowOnce = `document.querySelector("button.allow-once")`
	awake     = `!` + allowOnce + `.disabled`
)

// says is a script: whether the chat shows these words.
func says(words string) string {
	return `document.querySelector("#said").textContent.includes("` + words + `")`
}

// say has the person write into the chat.
func (e *embedded) say(text string) {
	e.t.Helper()
	require.NoError(e.t, chromedp.Do(e.chat.ctx, chromedp.SendKeys(chromedp.CSS("input[name=text]"), text+"\r")))
}

// review clicks on the row's button, and gives the dialog's window.
func (e *embedded) review() *window {
	e.t.Helper()
	return e.chat.opens("/dialog/", func() { e.chat.click(theButton) })
}

func (e *embedded) said() string {
	e.t.Helper()
	return eval[string](e.chat, `document.querySelector("#said").textContent`)
}

// newest is the approval that was asked last.
func (e *embedded) newest() approval.Approval {
	e.t.Helper()
	list, err := e.gate.List(e.t.Context(), core.Caller{MayDecide: true}, core.Filter{Limit: 1})
	require.NoError(e.t, err)
	require.Len(e.t, list.Items, 1)
	return list.Items[0]
}

// From one site to another: the chat lists what waits, a click opens the desk's window, a
// yes there goes on in the chat, and no strict policy is in the way.
func TestTheDialogInAnotherSitesPage(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t)
	e.say("run npm publish")
	e.chat.until(theList + `.textContent.includes("npm publish")`)
	a := e.newest()

	dialog := e.review()
	dialog.until(`document.querySelector("form.dialog")`)
	eval[bool](dialog, awake+` || `+allowOnce+`.click() || true`) // a slow machine looks when it is awake
	require.Equal(t, approval.Pending, e.now(a.Code).Status, "it was just opened")
	dialog.until(awake)
	dialog.click(allowOnce)

	e.chat.until(says("I may run: npm publish"))
	e.chat.until(says("allow-once approved"))
	e.chat.until(`!` + theButton)
	require.Equal(t, approval.Approved, e.now(a.Code).Status)
	require.Equal(t, 1, strings.Count(e.said(), "desk: "), "it is said once")

	e.say("run npm publish again")
	e.chat.until(theButton)
	_, err := e.gate.VoteAs(t.Context(), core.Caller{Token: "bob", Person: "bob", MayDecide: true}, e.newest().Code, approval.Deny, "", "")
	require.NoError(t, err)
	e.chat.until(says("I did not run it: denied"))
	e.chat.until(says("was decided elsewhere"))
	e.chat.until(`!` + theButton)
	e.mu.Lock()
	defer e.mu.Unlock()
	require.Empty(t, e.broken, "neither the page's policy nor the desk's stood in the way")
}

// The buttons rest again whenever the window gets the focus, and in a window too small to
// read they never wake.
func TestAdversary_N1_ButtonsRestAfterEachFocus(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t)
	e.say("run npm publish")
	dialog := e.review()
	dialog.until(awake)
	for _, event := range []string{"focus", "blur", "pageshow", "resize"} {
		require.True(t, eval[bool](dialog, `dispatchEvent(new Event("`+event+`")); `+allowOnce+`.disabled`), event)
		dialog.until(awake)
	}
	rested := eval[float64](dialog, `new Promise((woke) => {
		const began = performance.now();
		new MutationObserver(() => { if (`+awake+`) woke(performance.now() - began) }).observe(`+allowOnce+`, {attributes: true});
		dispatchEvent(new Event("focus"));
	})`)
	require.GreaterOrEqual(t, rested, float64(dialogRest/time.Millisecond)-1, "by the page's own clock")

	call(dialog, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 200, Height: 150, DeviceScaleFactor: 1})
	dialog.until(`innerWidth < 280`)
	require.False(t, eval[bool](dialog, `new Promise((done) => setTimeout(() => done(`+awake+`), 2000))`), "nobody can read it")
	require.Equal(t, approval.Pending, e.newest().Status)
}

// What is not the desk's window tells the element nothing, and who is not of embedOrigins is
// told nothing by the desk.
func TestAdversary_N1_MessagesOfOthers(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t)
	e.say("run npm publish")
	e.chat.until(theButton)
	a := e.newest()
	forged := `{type: "approvalbot", code: "` + a.Code + `", decision: "allow-once", status: "approved"}`
	eval[bool](e.chat, `postMessage(`+forged+`, "*"); true`)
	evil := evilSite(t, `<title>evil</title><button>x</button><script>
		window.heard = []; addEventListener("message", e => heard.push(e.data));
		if (opener) opener.postMessage(`+forged+`, "*");
		document.querySelector("button").onclick = () => { window.dialog = open("`+e.desk+`/dialog/`+a.Code+`", "d", "popup") };
	</script>`)

	// The dialog's own window, led to another origin, says what the desk would say.
	led := e.review()
	led.until(`document.querySelector("form.dialog")`)
	eval[bool](e.chat, `Boolean(open("`+evil+`", "approvalbot-`+a.Code+`"))`, asPerson)
	led.until(`window.heard`)
	require.True(t, eval[bool](led, `Boolean(opener)`))

	// That site opens the dialog itself; the person decides there, and it learns nothing.
	dialog := led.opens("/dialog/", func() { led.click(`document.querySelector("button")`) })
	require.NotContains(t, e.said(), "desk: ")
	dialog.until(`!document.querySelector("button.deny").disabled`)
	dialog.click(`document.querySelector("button.deny")`)
	led.until(`dialog.closed`)
	require.Equal(t, approval.Denied, e.now(a.Code).Status)
	require.Zero(t, eval[int](led, `heard.length`))

	// The element learns from the desk's list that it has ended, and nothing that was forged.
	e.chat.until(says("decided elsewhere"))
	require.NotContains(t, e.said(), "allow-once")
}

// evilSite is a page of another site.
func evilSite(t *testing.T, html string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html>" + html))
	}))
	t.Cleanup(s.Close)
	return as(t, s.URL, "evil.gamma.test")
}

// Another site can neither frame the dialog, nor post its form, nor read its page or the
// list, whatever it sends along.
func TestAdversary_N1_TheDialogFromAnotherSite(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t)
	e.say("run npm publish")
	e.chat.until(theButton)
	a := e.newest()
	address := e.desk + "/dialog/" + a.Code
	e.chat.open(evilSite(t, `<title>evil</title><iframe id="framed" src="`+address+`"></iframe>
		<form method="post" target="f" action="`+address+`"><input name="decision" value="allow-once"><input name="armed" value="1">
		<input name="shown" value="`+a.Fingerprint+`"><input name="made" value="`+strconv.FormatInt(a.CreatedAtMs, 10)+`">
		</form><iframe name="f"></iframe>`))
	eval[bool](e.chat, `document.querySelector("form").submit() || true`)
	token := e.token(agentName, a.SessionKey, time.Now())
	for _, with := range []string{
		`"` + address + `", {credentials: "include"}`,
		`"` + address + `", {credentials: "include", mode: "no-cors", method: "POST", body: new FormData(document.querySelector("form"))}`,
		`"` + e.desk + `/viewer/approvals", {headers: {Authorization: "Bearer ` + token + `"}}`,
	} {
		require.Empty(t, eval[string](e.chat, `fetch(`+with+`).then(r => r.text()).catch(() => "")`), with)
	}
	for _, f := range call(e.chat, cdppage.GetFrameTree, cdp.Empty{}).FrameTree.ChildFrames {
		require.NotContains(t, f.Frame.URL, "/dialog/", "the frame shows no page of the desk's")
	}
	require.Equal(t, approval.Pending, e.now(a.Code).Status)
}
