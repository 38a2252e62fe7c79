package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// form is what a browser without scripts would send of a dialog's page, as if it had been
// read for so long.
func form(page string, decision approval.Decision, read time.Duration) url.Values {
	v := url.Values{"decision": {string(decision)}}
	for _, f := range hiddenField.FindAllStringSubmatch(page, -1) {
		v.Set(f[1], f[2])
	}
	v.Set("made", fmt.Sprint(time.Now().Add(-read).UnixMilli()))
	return v
}

// armed is the form as the script sends it.
func armed(page string, decision approval.Decision) url.Values {
	v := form(page, decision, time.Second)
	v.Set("armed", "1")
	return v
}

func (d *dialogDesk) post(code, person string, v url.Values, headers ...string) answered {
	d.t.Helper()
	return d.do("POST", "/dialog/"+code, person, v.Encode(), headers...)
}

// Each button is one decision, and says what it covers.
func TestTheDialogsButtons(t *testing.T) {
	t.Parallel()
	for decision, want := range map[approval.Decision]struct {
		label  string
		status approval.Status
	}{
		approval.Deny: {"Cancel", approval.Denied}, approval.AllowOnce: {"Allow once", approval.Approved},
		approval.AllowSession: {"Always (this session)", approval.Approved}, approval.AllowAlways: {"Always", approval.Approved},
	} {
		d := newDialogDesk(t)
		a := d.ask("read", `{"path":"/srv/a b"}`)
		page := d.do("GET", "/dialog/"+strings.ToLower(a.Code), "alice", "")
		require.Equal(t, http.StatusOK, page.StatusCode)
		require.Contains(t, page.text, `value="`+string(decision)+`" class="`+string(decision)+`">`+want.label+"<")
		require.Contains(t, page.text, "/srv/a b")
		require.Contains(t, page.text, "the tool read")

		got := d.post(a.Code, "alice", armed(page.text, decision))
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Contains(t, got.text, "Your vote counts.")
		require.NotContains(t, got.text, "<form")
		now := d.now(a.Code)
		require.Equal(t, want.status, now.Status)
		require.Equal(t, decision, now.Decision)
	}
}

// Without a script a click asks once more, and only the next one, on a page that was there
// long enough to be read, decides.
func TestTheDialogWithoutScripts(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	a := d.ask("read", `{"path":"a"}`)
	first := d.do("GET", "/dialog/"+a.Code, "alice", "")
	second := d.post(a.Code, "alice", form(first.text, approval.AllowOnce, time.Minute))
	require.Contains(t, second.text, "You chose: Allow once")
	require.NotContains(t, second.text, ">Always<")
	require.Equal(t, approval.Pending, d.now(a.Code).Status)

	hasty := d.post(a.Code, "alice", form(second.text, approval.AllowOnce, dialogRest/2))
	require.Contains(t, hasty.text, "You chose: Allow once", "a third click in a row decides nothing either")
	require.Equal(t, approval.Pending, d.now(a.Code).Status)
	stale := d.post(a.Code, "alice", form(second.text, approval.AllowOnce, 2*dialogLife))
	require.Contains(t, stale.text, "You chose: Allow once")

	done := d.post(a.Code, "alice", form(second.text, approval.AllowOnce, dialogRest))
	require.Contains(t, done.text, "Your vote counts.")
	require.Equal(t, approval.Approved, d.now(a.Code).Status)
}

// A script cannot be hastier than people either.
func TestAdversary_N1_DoubleClickjacking(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	a := d.ask("read", `{"path":"a"}`)
	page := d.do("GET", "/dialog/"+a.Code, "alice", "").text
	for _, made := range []string{fmt.Sprint(time.Now().UnixMilli()), fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()), "", "x"} {
		v := armed(page, approval.AllowOnce)
		v.Set("made", made)
		require.Contains(t, d.post(a.Code, "alice", v).text, "You chose")
	}
	require.Equal(t, approval.Pending, d.now(a.Code).Status)
}

// Only the dialog stays known to the window that opened it, and no page stands in a frame.
func TestAdversary_N1_Frames(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	a := d.ask("read", `{"path":"a"}`)
	for path, opener := range map[string]bool{"/dialog/" + a.Code: true, "/dialog/AAAAAA": true, "/me/push": false} {
		got := d.do("GET", path, "alice", "")
		require.Contains(t, got.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
		require.Equal(t, opener, got.Header.Get("Cross-Origin-Opener-Policy") == "unsafe-none", path)
	}
}

// Another origin's form decides nothing, though the person is signed in.
func TestAdversary_N1_OtherOriginsPost(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	a := d.ask("read", `{"path":"a"}`)
	v := armed(d.do("GET", "/dialog/"+a.Code, "alice", "").text, approval.AllowOnce)
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", embedder}, {"Origin", "null"},
	} {
		require.Equal(t, http.StatusForbidden, d.post(a.Code, "alice", v, headers...).StatusCode, headers)
		require.Equal(t, http.StatusForbidden, d.do("POST", "/me/push", "alice", "{}", headers...).StatusCode, headers)
	}
	require.Equal(t, http.StatusSeeOther, d.post(a.Code, "", v).StatusCode, "nobody is signed in")
	require.Equal(t, approval.Pending, d.now(a.Code).Status)
}

// An allow counts where the page had every byte of that very call on it, and nowhere else.
func TestADialogShowsEveryByte(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	long := d.ask("write", `{"path":"a","content":"`+strings.Repeat("x", maxInDialog)+`end"}`)
	page := d.do("GET", "/dialog/"+long.Code, "alice", "").text
	require.NotContains(t, page, "Allow once")
	require.Contains(t, page, `href="/a/`+long.Code+`"`)
	require.Contains(t, page, ">Cancel<")
	require.Contains(t, d.post(long.Code, "alice", armed(page, approval.AllowOnce)).text, "Read the whole call first.")
	require.Equal(t, approval.Pending, d.now(long.Code).Status)

	short, other := d.ask("read", `{"path":"a"}`), d.ask("read", `{"path":"b"}`)
	v := armed(d.do("GET", "/dialog/"+other.Code, "alice", "").text, approval.AllowOnce)
	require.Contains(t, d.post(short.Code, "alice", v).text, "Read the whole call first.")
	require.Equal(t, approval.Pending, d.now(short.Code).Status)
	d.post(long.Code, "alice", armed(page, approval.Deny))
	require.Equal(t, approval.Denied, d.now(long.Code).Status, "a deny needs no reading")
}

// An open window asks how it stands, and is shown again once the approval has ended.
func TestTheOpenDialogHearsOfItsEnd(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	a := d.ask("act", `{"path":"a"}`)
	state := func(who string) int { return d.do("GET", "/dialog/"+a.Code, who, "", "X-Dialog", "state").StatusCode }
	require.Equal(t, http.StatusAccepted, state("alice"))
	require.Equal(t, http.StatusNotFound, state("nobody"))
	d.post(a.Code, "alice", armed(d.do("GET", "/dialog/"+a.Code, "alice", "").text, approval.Deny))
	require.Equal(t, http.StatusNoContent, state("alice"))
}

// A yes to an R4 call is asked for a second time, also where a script watches over the window.
func TestConfirm_TheDialogAsksTwiceForR4(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	grave := d.ask("grave", `{"path":"a"}`)
	page := d.do("GET", "/dialog/"+grave.Code, "alice", "").text
	again := d.post(grave.Code, "alice", armed(page, approval.AllowOnce)).text
	require.Contains(t, again, "You chose: Allow once. Is that what you want?")
	require.Empty(t, d.now(grave.Code).Votes)
	v := armed(again, approval.AllowOnce)
	v.Set("confirm", "1")
	d.post(grave.Code, "alice", v)
	require.NotEmpty(t, d.now(grave.Code).Votes)
}

// What is not offered, or not theirs, is refused in the desk's words, and decides nothing.
func TestTheDialogRefuses(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	grave := d.ask("grave", `{"path":"a"}`)
	page := d.do("GET", "/dialog/"+grave.Code, "alice", "").text
	require.NotContains(t, page, "Always")
	require.Contains(t, d.post(grave.Code, "alice", armed(page, approval.AllowAlways)).text, "allow-always is not offered")
	require.NotContains(t, d.post(grave.Code, "alice", armed(page, "burn")).text, "Your vote counts")
	require.Equal(t, approval.Pending, d.now(grave.Code).Status)

	for _, who := range []string{"carol", "nobody"} {
		require.Equal(t, http.StatusNotFound, d.do("GET", "/dialog/"+grave.Code, who, "").StatusCode, who)
		require.Equal(t, http.StatusNotFound, d.post(grave.Code, who, armed(page, approval.Deny)).StatusCode, who)
	}
	require.Equal(t, http.StatusNotFound, d.do("GET", "/dialog/AAAAAA", "alice", "").StatusCode)

	own := d.ask("read", `{"path":"own"}`, func(c *approval.Call) { c.Requester = &approval.Requester{Person: "alice"} })
	page = d.do("GET", "/dialog/"+own.Code, "alice", "").text
	require.Contains(t, d.post(own.Code, "alice", armed(page, approval.AllowOnce)).text, "You cannot approve your own request.")
	require.Equal(t, approval.Pending, d.now(own.Code).Status)
}

// Whoever opened the window is told of a vote that was given there, and of nothing else.
func TestWhoOpenedADialogIsToldOfItsVote(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	a := d.ask("two", `{"path":"a"}`)
	page := d.do("GET", "/dialog/"+a.Code, "alice", "").text
	require.NotContains(t, page, "data-answer")
	got := d.post(a.Code, "alice", armed(page, approval.AllowOnce)).text
	require.Contains(t, got, "Others are to decide")
	require.Contains(t, got, `data-origins="`+embedder+`"`)
	require.Contains(t, got, "&#34;status&#34;:&#34;pending&#34;")
	page = d.do("GET", "/dialog/"+a.Code, "bob", "").text
	got = d.post(a.Code, "bob", armed(page, approval.AllowOnce)).text
	require.Contains(t, got, "&#34;status&#34;:&#34;approved&#34;")

	later := d.do("GET", "/dialog/"+a.Code, "alice", "").text
	require.NotContains(t, later, "data-answer", "who opens it later learns nothing")
	require.NotContains(t, later, "<form")
	late := d.post(a.Code, "bob", armed(page, approval.Deny)).text
	require.NotContains(t, late, "data-answer")
	require.NotContains(t, late, "Your vote counts")
	require.Contains(t, d.post(a.Code, "bob", armed(page, approval.AllowOnce)).text, "Your vote counts", "the same again is fine")
}

// Nothing is counted where nobody counts.
func TestADialogWithoutVotes(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	a := d.ask("read", `{"path":"a"}`)
	page := d.do("GET", "/dialog/"+a.Code, "alice", "").text
	d.web.dialogs.castVote = nil
	require.Equal(t, http.StatusServiceUnavailable, d.post(a.Code, "alice", armed(page, approval.AllowOnce)).StatusCode)
	d.web.dialogs.castVote = func(context.Context, signin.Session, string, approval.Decision, string, string) (approval.Approval, error) {
		return approval.Approval{}, context.DeadlineExceeded
	}
	got := d.post(a.Code, "alice", armed(page, approval.AllowOnce))
	require.Equal(t, http.StatusServiceUnavailable, got.StatusCode)
	require.NotContains(t, got.text, "deadline")
}

// Markup and hidden characters in every field of a call are words, and seen.
func TestAdversary_N5_InADialog(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	evil := `<script>alert(1)</script>\u202e\"><img src=x onerror=alert(1)>`
	a := d.ask("write", `{"path":"`+evil+`","`+evil+`":"x"}`, func(c *approval.Call) {
		c.Justification = "<b>Risk: R0</b>"
	})
	page := d.do("GET", "/dialog/"+a.Code, "alice", "").text
	require.NotContains(t, page, "<script>alert")
	require.NotContains(t, page, "<img")
	require.NotContains(t, page, "<b>")
	require.NotContains(t, page, "\u202e")
	require.Contains(t, page, `\u{202E}`)
	require.Contains(t, page, "hidden characters")
}
