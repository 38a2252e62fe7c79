package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

var linkForm = regexp.MustCompile(`http://localhost:[0-9]+/signin\?link=[A-Za-z0-9_-]{43}`)

// page asks the desk for a page as a browser on its machine does, and gives the answer
// with its text. cookie is a session's, or empty.
func (r *rig) page(method, address, cookie string, form url.Values) (*http.Response, string) {
	r.t.Helper()
	to, err := url.Parse(address)
	require.NoError(r.t, err)
	in, err := http.NewRequestWithContext(r.ctx(), method, r.url+to.RequestURI(), strings.NewReader(form.Encode()))
	require.NoError(r.t, err)
	in.Host = "localhost:8787"
	if method == http.MethodPost {
		in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		in.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if cookie != "" {
		in.Header.Set("Cookie", cookie)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	out, err := transport.RoundTrip(in)
	require.NoError(r.t, err)
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	require.NoError(r.t, err)
	return out, string(text)
}

// click spends a login link and gives the session's cookie.
func (r *rig) click(link string) (cookie string) {
	r.t.Helper()
	to, err := url.Parse(link)
	require.NoError(r.t, err)
	out, text := r.page(http.MethodPost, "/signin", "", url.Values{"link": {to.Query().Get("link")}})
	require.Equal(r.t, http.StatusSeeOther, out.StatusCode, text)
	cookie, _, _ = strings.Cut(out.Header.Get("Set-Cookie"), ";")
	return cookie
}

// in reports as whom a cookie is signed in.
func (r *rig) in(cookie string) (person string) {
	r.t.Helper()
	out, text := r.page(http.MethodGet, "/me", cookie, nil)
	if out.StatusCode == http.StatusSeeOther {
		return ""
	}
	m := regexp.MustCompile(`You are signed in as ([a-z]+)\.`).FindStringSubmatch(text)
	require.NotNil(r.t, m, text)
	return m[1]
}

// From a group, the link goes to the person who asks, directly. At the sign-in their chat
// is told, and its button ends the session: for that person alone.
func TestSignIn_FromTelegram(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	r.alice.Start("")
	r.bob.Start("")
	require.Equal(t, "I have sent it to you directly.", r.reply(r.group, r.alice.Say(r.group, "/web")).Text)
	sent, err := r.alice.Chat().WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool { return linkForm.MatchString(m.Text) })
	require.NoError(t, err)
	require.Contains(t, sent.Text, "signs you in to the desk's pages as alice")
	link := linkForm.FindString(sent.Text)

	out, text := r.page(http.MethodGet, link, "", nil)
	require.Equal(t, http.StatusOK, out.StatusCode)
	require.Contains(t, text, "Sign in as alice</button>")
	cookie := r.click(link)
	require.Equal(t, "alice", r.in(cookie))

	told, err := r.alice.Chat().WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		return strings.Contains(m.Text, "Somebody signed in to the desk's pages as alice with a one-time link")
	})
	require.NoError(t, err)
	data := told.Buttons[0][0].CallbackData
	require.Equal(t, "That session has ended already, or is not yours.", r.answer(r.bob.TapData(r.alice.Chat(), told.ID, data)).Text)
	require.Equal(t, "alice", r.in(cookie))
	require.Contains(t, r.tap(r.alice, r.alice.Chat(), told.ID, "Not me: end it").Text, "That session has ended.")
	require.Empty(t, r.in(cookie))
	require.Equal(t, "That session has ended already, or is not yours.", r.tap(r.alice, r.alice.Chat(), told.ID, "Not me: end it").Text)

	require.Contains(t, r.reply(r.group, r.mallory.Say(r.group, "/web")).Text, "does not know whose account this is")
	require.Equal(t, "I cannot write to you: open a chat with me, and send /web there.", r.reply(r.group, r.carol.Say(r.group, "/web")).Text)
	for _, m := range r.group.Messages() {
		require.NotContains(t, m.Text, "signin")
	}
	secret := strings.Split(link, "link=")[1]
	require.NotContains(t, r.logs.String(), secret)
	require.NotContains(t, r.logs.String(), strings.Split(cookie, "=")[1])
}

// Where Telegram can open it safely, a button below the link opens the desk inside Telegram.
func TestSignIn_InsideTelegram(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.web = "{enabled: true}\n  publicUrl: https://desk.example.org" })
	r.alice.Start("")
	r.alice.Say(r.alice.Chat(), "/web")
	sent, err := r.alice.Chat().WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool { return len(m.Buttons) > 0 })
	require.NoError(t, err)
	require.Contains(t, sent.Text, "https://desk.example.org/signin?link=")
	button := sent.Buttons[0][0]
	require.Equal(t, "web_app", button.Other)
	require.JSONEq(t, `{"url":"https://desk.example.org/telegram"}`, string(button.OtherValue))
}

// On Discord the link comes by direct message, and so does what tells of the sign-in.
func TestSignIn_FromDiscord(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	alice := r.accounts["alice"]
	require.Contains(t, r.told(alice.Slash(r.ops, "web", nil)), "I have sent it to you directly.")
	sent, err := alice.DM().WaitMessage(r.ctx(), func(m fakechat.DiscordMessage) bool { return linkForm.MatchString(m.Content) })
	require.NoError(t, err)
	cookie := r.click(linkForm.FindString(sent.Content))
	require.Equal(t, "alice", r.in(cookie))
	told, err := alice.DM().WaitMessage(r.ctx(), func(m fakechat.DiscordMessage) bool { return strings.Contains(m.Content, "Somebody signed in") })
	require.NoError(t, err)
	require.Contains(t, r.told(alice.Click(alice.DM(), told.ID, "Not me: end it")), "That session has ended.")
	require.Empty(t, r.in(cookie))
}

// In a terminal, approvalbot login makes a link for whom the token names; --enrol needs an
// operator.admin.
func TestSignIn_FromATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	login := func(secret string, args ...string) (int, string) {
		var out, errs safeBuffer
		env := []string{"APPROVALBOT_SERVER=" + r.url, "APPROVALBOT_TOKEN=" + secret}
		status := run(r.ctx(), append([]string{"login"}, args...), env, strings.NewReader(""), &out, &errs)
		return status, out.String() + errs.String()
	}
	status, out := login(aliceSecret)
	require.Zero(t, status, out)
	require.Contains(t, out, "\nIt works once, until ")
	cookie := r.click(linkForm.FindString(out))
	require.Equal(t, "alice", r.in(cookie))
	status, out = login(aliceSecret, "--enrol", "alice")
	require.NotZero(t, status)
	require.Contains(t, out, "operator.admin")
	status, out = login(operatorSecret, "--enrol", "bob", "--json")
	require.Zero(t, status, out)
	var made api.LoginLink
	require.NoError(t, json.Unmarshal([]byte(out), &made))
	require.Equal(t, "bob", r.in(r.click(made.URL)))
	status, out = login(agentSecret)
	require.NotZero(t, status)
	require.NotRegexp(t, linkForm, out)

	_, err := r.client(aliceSecret).LoginLink(r.ctx(), api.LoginRequest{Person: "bob"})
	requireProblem(t, err, "forbidden")
	_, err = r.operator().LoginLink(r.ctx(), api.LoginRequest{Person: "eve"})
	requireProblem(t, err, "invalid_request")
}

// Where the pages are off there is no route to them, and nobody makes links.
func TestSignIn_Off(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { hearsEverything(r); r.web = "{enabled: false}" })
	for _, path := range []string{"/signin", "/me", "/telegram", "/static/style.css"} {
		out, text := r.page(http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusNotFound, out.StatusCode, path)
		require.Contains(t, text, `"code":"not_found"`)
	}
	_, err := r.operator().LoginLink(r.ctx(), api.LoginRequest{Person: "alice"})
	requireProblem(t, err, "forbidden")
	require.Equal(t, "This desk has no pages to sign in to.", r.reply(r.group, r.alice.Say(r.group, "/web")).Text)
}

// A person whom a reload takes out of the configuration is out with it.
func TestAdversary_N6_AReloadSignsOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made, err := r.operator().LoginLink(r.ctx(), api.LoginRequest{Person: "bob"})
	require.NoError(t, err)
	cookie := r.click(made.URL)
	require.Equal(t, "bob", r.in(cookie))
	r.people = fmt.Sprintf("  - {name: alice, telegram: %d}\n", r.alice.ID)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(r.yaml()), 0o600))
	_, err = r.desk.Reload(r.ctx(), "signal:SIGHUP")
	require.NoError(t, err)
	require.Empty(t, r.in(cookie))
}

// Of several instances each knows the sessions of all, and who is told is told once.
func TestSignIn_SeveralInstances(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	a.alice.Start("")
	b := a.another()
	made, err := a.client(aliceSecret).LoginLink(a.ctx(), api.LoginRequest{})
	require.NoError(t, err)
	cookie := b.click(made.URL)
	require.Equal(t, "alice", a.in(cookie))
	told := func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, "Somebody signed in") }
	first, err := a.alice.Chat().WaitMessage(a.ctx(), told)
	require.NoError(t, err)
	require.Contains(t, a.tap(a.alice, a.alice.Chat(), first.ID, "Not me: end it").Text, "That session has ended.")
	require.Empty(t, b.in(cookie))
	n := 0
	for _, m := range a.alice.Chat().FromBot() {
		if told(m) {
			n++
		}
	}
	require.Equal(t, 1, n)
}

// The policy page says how the file on disk differs from what is in force, and puts nothing
// in force by that.
func TestFlow_PolicyOnDisk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, err := r.operator().LoginLink(r.ctx(), api.LoginRequest{Person: "alice"})
	require.NoError(t, err)
	cookie := r.click(l.URL)
	sees := func(want string) {
		t.Helper()
		_, text := r.page(http.MethodGet, "/policy", cookie, nil)
		require.Contains(t, text, want)
	}
	sees("Its policy is the one in force.")
	file, err := os.ReadFile(r.configFile())
	require.NoError(t, err)
	r.write(string(file) + "\nagents: {list: [{id: other, tools: {deny: [exec]}}]}\n")
	sees("Its policy is another one")
	r.write("server: {listen: nowhere}\n")
	sees("It could not be loaded")
}

// A browser gets a page for an address that is none of the desk's; a program, and who asks the API,
// what says where the API is described.
func TestAPageThatDoesNotExistIsAPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for accept, want := range map[string]string{"text/html,*/*;q=0.8": "text/html; charset=utf-8", "*/*": "application/problem+json"} {
		for path, want := range map[string]string{"/nosuch": want, "/v1/nosuch": "application/problem+json"} {
			in, err := http.NewRequestWithContext(r.ctx(), http.MethodGet, r.url+path, nil)
			require.NoError(t, err)
			in.Host = "localhost:8787"
			in.Header.Set("Accept", accept)
			out, err := http.DefaultTransport.RoundTrip(in)
			require.NoError(t, err)
			text, err := io.ReadAll(out.Body)
			require.NoError(t, err)
			require.NoError(t, out.Body.Close())
			require.Equal(t, http.StatusNotFound, out.StatusCode)
			require.Equal(t, want, out.Header.Get("Content-Type"), "%s %s", accept, path)
			require.Equal(t, want == "text/html; charset=utf-8", strings.Contains(string(text), "There is no such page"))
		}
	}
}
