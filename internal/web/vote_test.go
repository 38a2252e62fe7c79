package web

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// A person reads the call on its page, and allows it: the vote is theirs.
func TestVote(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("terraform plan -out p")
	page := d.sees("bob", "/a/"+a.Code)
	require.Contains(t, page, `<span class="t-program">terraform</span>`)
	require.Contains(t, page, "Allow once")
	out := d.votes("bob", a.Code, approval.AllowOnce)
	require.Equal(t, http.StatusSeeOther, out.Code, out.Body.String())
	require.Equal(t, []string{"person:bob"}, d.get(a).DecidedBy)
	require.Contains(t, d.sees("bob", out.Header().Get("Location")), "Allowed. It may run once, within 5 minutes.")
}

// Two tabs, a double click, the back button: one vote, and the second says which.
func TestVote_Twice(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("terraform plan -out p")
	d.sees("bob", "/a/"+a.Code)
	d.sees("alice", "/a/"+a.Code)
	require.Equal(t, http.StatusSeeOther, d.votes("bob", a.Code, approval.AllowOnce).Code)
	require.Equal(t, http.StatusSeeOther, d.votes("bob", a.Code, approval.AllowOnce).Code, "the same again is fine")
	late := d.votes("alice", a.Code, approval.Deny)
	require.Equal(t, http.StatusConflict, late.Code)
	require.Contains(t, late.Body.String(), "Already decided: allowed once by bob")
	require.Len(t, d.get(a).Votes, 1)
	script := d.votes("alice", a.Code, approval.Deny, func(r *http.Request) { r.Header.Set("HX-Request", "true") })
	require.Equal(t, a.Code+": Already decided: allowed once by bob", script.Body.String())
}

// An allow counts only after the whole call stood on that person's page.
func TestAdversary_S1_AllowOnTheWebUnseen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("terraform plan -out p")
	out := d.votes("bob", a.Code, approval.AllowOnce)
	require.Equal(t, http.StatusConflict, out.Code)
	require.Contains(t, out.Body.String(), "You have not been shown all of what "+a.Code+" would run")
	require.Equal(t, approval.Pending, d.get(a).Status)

	b := d.run("terraform plan -out q")
	d.sees("alice", "/a/"+b.Code)
	require.Equal(t, http.StatusConflict, d.votes("bob", b.Code, approval.AllowOnce).Code, "what alice saw bob has not seen")
}

// What is too long for a page is downloaded first; the button comes with that.
func TestAdversary_S1_ACallTooLongForAPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("write", `{"path":"x","content":"`+strings.Repeat("all work and no play\\n", 8000)+`rm -rf /"}`)
	page := d.sees("bob", "/a/"+a.Code)
	require.NotContains(t, page, "Allow once")
	require.Contains(t, page, "more characters, in the file")
	require.Less(t, len(page), 400_000)
	require.Equal(t, http.StatusConflict, d.votes("bob", a.Code, approval.AllowOnce).Code)

	file := d.asks("bob", http.MethodGet, "/a/"+a.Code+"/call", nil)
	require.Contains(t, file.Body.String(), "rm -rf /")
	require.Contains(t, file.Header().Get("Content-Disposition"), "attachment")
	require.Contains(t, d.sees("bob", "/a/"+a.Code), "Allow once")
	require.Equal(t, http.StatusSeeOther, d.votes("bob", a.Code, approval.AllowOnce).Code)
	require.Equal(t, approval.Approved, d.get(a).Status)
}

// A yes to an R4 call opens a confirmation in place, and only that counts: on its own page, in a row
// of the inbox and in the dialog.
func TestConfirm_PagesAskTwiceForR4(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("exec", `{"command":"terraform apply x"}`)
	low := d.ask("exec", `{"command":"make x"}`)
	page, inbox := d.sees("bob", "/a/"+a.Code), d.sees("bob", "/")
	require.Contains(t, page, `<details class="confirm">`)
	require.NotContains(t, page, `name="decision" value="allow-once"`)
	require.Contains(t, d.sees("bob", "/a/"+low.Code), `name="decision" value="allow-once"`)
	row := func(a approval.Approval) string {
		_, after, _ := strings.Cut(inbox, `id="row-`+a.Code)
		in, _, _ := strings.Cut(after, "</li>")
		return in
	}
	require.NotContains(t, row(a), "allow-once")
	require.Contains(t, row(low), "allow-once")

	one := url.Values{"decision": {"allow-once"}}
	out := d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote", one)
	require.Equal(t, http.StatusConflict, out.Code)
	require.Contains(t, out.Body.String(), "Not counted yet.")
	require.Empty(t, d.get(a).Votes)
	require.Equal(t, http.StatusSeeOther, d.asks("bob", http.MethodPost, "/a/"+low.Code+"/vote", one).Code)
	require.Equal(t, http.StatusSeeOther, d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote",
		url.Values{"confirm": {"allow-once"}}).Code)
	require.Len(t, d.get(a).Votes, 1)
}

// Whoever asked, a stranger, and a person without rights decide nothing on the web.
func TestAdversary_I5_OnTheWeb(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("exec", `{"command":"terraform apply x"}`,
		func(c *approval.Call) { c.Requester = &approval.Requester{Person: "carol"} })
	b := d.ask("exec", `{"command":"terraform apply y"}`,
		func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob"} })
	for _, c := range []struct {
		who  string
		of   approval.Approval
		want int
	}{{"carol", a, http.StatusForbidden}, {"dave", a, http.StatusNotFound}, {"nobody", a, http.StatusNotFound},
		{"bob", b, http.StatusForbidden}, {"", a, http.StatusSeeOther}} {
		d.asks(c.who, http.MethodGet, "/a/"+c.of.Code, nil)
		out := d.votes(c.who, c.of.Code, approval.AllowOnce)
		require.Equal(t, c.want, out.Code, c.who)
		require.NotContains(t, out.Header().Get("Location"), "voted", c.who)
		require.Empty(t, d.get(c.of).Votes, c.who)
	}
	require.Contains(t, d.sees("bob", "/a/"+b.Code), "You asked for this, so another approver must decide it.")
	d.votes("bob", b.Code, approval.Deny)
	require.Equal(t, approval.Withdrawn, d.get(b).Status, "a deny of their own withdraws it")
}

// Who neither decides nor administers sees what they asked for, and nothing else.
func TestSeesOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	own := d.ask("exec", `{"command":"make own"}`, func(c *approval.Call) { c.Requester = &approval.Requester{Person: "carol"} })
	other := d.run("make other")
	for _, page := range []string{"/", "/history", "/history?format=csv", "/history?format=json"} {
		text := d.sees("carol", page)
		require.Contains(t, text, own.Code, page)
		require.NotContains(t, text, other.Code, page)
	}
	require.Equal(t, http.StatusNotFound, d.asks("carol", http.MethodGet, "/a/"+other.Code, nil).Code)
	require.Equal(t, http.StatusNotFound, d.asks("carol", http.MethodGet, "/a/"+other.Code+"/call", nil).Code)
	for _, page := range []string{"/grants", "/policy", "/people", "/numbers", "/audit", "/health"} {
		require.Equal(t, http.StatusForbidden, d.asks("carol", http.MethodGet, page, nil).Code, page)
	}
	require.Equal(t, http.StatusForbidden, d.asks("bob", http.MethodGet, "/audit", nil).Code, "it takes operator.audit")
}

// The page of an ended request says how it ended; of an unknown one that there is none.
func TestEndedAndUnknown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("make it")
	d.votes("bob", a.Code, approval.Deny)
	page := d.sees("alice", "/a/"+strings.ToLower(a.Code))
	require.Contains(t, page, "⛔ Denied by bob")
	require.NotContains(t, page, `value="allow-once"`)
	require.Equal(t, http.StatusNotFound, d.asks("alice", http.MethodGet, "/a/ZZZZZZ", nil).Code)
}

// What waits for me comes first, the riskiest before the rest.
func TestInbox_Order(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	grave := d.run("terraform destroy -auto-approve")
	mild := d.run("make it")
	mine := d.ask("exec", `{"command":"terraform destroy mine"}`,
		func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob"} })
	page := d.sees("bob", "/")
	at := func(a approval.Approval) int { return strings.Index(page, `id="row-`+a.Code) }
	require.Less(t, at(grave), at(mild))
	require.Less(t, at(mild), at(mine), "bob asked for it, so it waits for others")
	require.Contains(t, page, "<title>🟥 3 · Inbox")
	require.NotContains(t, d.sees("bob", "/?q=destroy"), mild.Code)
}

// Files of the history have what the page shows, and no formulas.
func TestHistory(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("exec", `{"command":"=cmd|' /C calc'!A0"}`)
	b := d.run("make it")
	d.votes("bob", b.Code, approval.Deny)
	require.NotContains(t, d.sees("alice", "/history?status=denied"), a.Code)
	rows, err := csv.NewReader(strings.NewReader(d.sees("alice", "/history?format=csv&q=calc"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 2)
	for _, cell := range rows[1] {
		require.NotRegexp(t, "^[=+@-]", cell)
	}
	var list struct{ Items []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(d.sees("alice", "/history?format=json")), &list))
	require.Len(t, list.Items, 2)
	first := d.sees("alice", "/history?tool=exec&risk=R9")
	require.Contains(t, first, "No request on record matches")
}

// The history goes on where the page before ended.
func TestHistory_Pages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range historyRows + 3 {
		d.run("make it " + strings.Repeat("x", i+1))
	}
	seen, path := 0, "/history"
	for path != "" {
		page := d.sees("alice", path)
		seen += strings.Count(page, `id="row-`)
		_, rest, _ := strings.Cut(page, `aria-label="More of the history"><a href="?cursor=`)
		cursor, _, more := strings.Cut(rest, `"`)
		if path = ""; more && strings.HasPrefix(rest[len(cursor):], `">Older</a>`) {
			path = "/history?cursor=" + cursor
		}
	}
	require.Equal(t, historyRows+3, seen)
}

// A grant is shown with who gave it and its use, and ends by whoever may decide.
func TestGrants(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("make it")
	d.votes("bob", a.Code, approval.Deny) // leaves a cool-down
	page := d.sees("alice", "/grants")
	require.Contains(t, page, "Refused for a while")
	require.Contains(t, page, "<strong>bob</strong>")
	_, rest, _ := strings.Cut(page, `action="`)
	action, _, _ := strings.Cut(rest, `"`)
	require.Equal(t, http.StatusForbidden, d.asks("carol", http.MethodPost, action, url.Values{}).Code)
	require.Equal(t, http.StatusSeeOther, d.asks("alice", http.MethodPost, action, url.Values{}).Code)
	require.Contains(t, d.sees("alice", "/grants"), "There are no grants.")
}

// A call is tried without anything being created.
func TestPolicy_Try(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	out := d.asks("alice", http.MethodPost, "/policy", url.Values{"tool": {"exec"}, "params": {"rm -rf /"}})
	require.Equal(t, http.StatusOK, out.Code)
	require.Contains(t, out.Body.String(), `id="tried"`)
	require.Contains(t, out.Body.String(), ">R4<")
	bad := d.asks("alice", http.MethodPost, "/policy", url.Values{"tool": {"write"}, "params": {"{"}})
	require.Contains(t, bad.Body.String(), `role="alert"`)
	require.NotContains(t, d.sees("alice", "/history"), "rm -rf")
}

// Every page that there is can be opened by who may.
func TestPagesOpen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("make it && terraform destroy")
	d.sees("alice", "/a/"+a.Code)
	pages := map[string]string{
		"/grants": "There are no grants", "/policy": "Its policy is another one", "/people": "carol", "/numbers": "For which tools?",
		"/audit": "asked", "/health": "look at its token", "/a/" + a.Code: "Command by command", "/history": a.Code,
		"/me": "alice", "/me/passkeys": "passkey", "/me/push": "browser", "/{$}": "terraform",
	}
	for path, want := range pages {
		require.Contains(t, d.sees("alice", strings.TrimSuffix(path, "{$}")), want, path)
	}
	for _, r := range d.web.routes {
		if path, get := strings.CutPrefix(r.pattern, "GET "); get && !r.open && !strings.Contains(path, "/{code}") {
			require.True(t, pages[path] != "", "page %s is not opened here", path)
		}
	}
	require.Contains(t, d.asks("alice", http.MethodPost, "/audit/verify", url.Values{}).Body.String(),
		"The chain is whole")
	_, err := d.gate.Absences().SetAway(t.Context(), core.Caller{Token: "ops", MayAdmin: true},
		core.Leave{Person: "alice", To: "bob", UntilMs: time.Now().Add(time.Hour).UnixMilli()})
	require.NoError(t, err)
	require.Contains(t, d.sees("bob", "/people"), ", bob instead")
	require.Equal(t, "/signin", d.asks("", http.MethodGet, "/", nil).Header().Get("Location"))
}

// Who denied a call lets it be asked again from its page; who asked, and who may decide nothing, do not.
func TestVote_AskAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("make it")
	again := "/a/" + a.Code + "/again"
	require.Equal(t, http.StatusConflict, d.asks("bob", http.MethodPost, again, url.Values{}).Code, "it waits yet")
	d.votes("bob", a.Code, approval.Deny)
	require.Contains(t, d.sees("bob", "/a/"+a.Code), "Allow again now")
	require.Equal(t, http.StatusNotFound, d.asks("carol", http.MethodPost, again, url.Values{}).Code)
	refused, _, err := d.gate.Submit(t.Context(), deployer, approval.Call{ToolName: "exec", Params: []byte(`{"command":"make it"}`)})
	require.NoError(t, err)
	require.Equal(t, approval.Denied, refused.Status)
	out := d.asks("bob", http.MethodPost, again, url.Values{})
	require.Equal(t, http.StatusSeeOther, out.Code, out.Body.String())
	page := d.sees("bob", out.Header().Get("Location"))
	require.Contains(t, page, "The very same call asks again from now on, as bob said.")
	require.NotContains(t, page, "Allow again now")
	require.Equal(t, http.StatusSeeOther, d.asks("alice", http.MethodPost, again, url.Values{}).Code, "a second time nothing happens")
	require.Equal(t, approval.Pending, d.run("make it").Status)
}

// An allow is taken back on the page by who may decide, while nothing has claimed it.
func TestVote_TakeBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("exec", `{"command":"make it"}`, func(c *approval.Call) { c.Requester = &approval.Requester{Person: "carol"} })
	back := "/a/" + a.Code + "/revoke"
	require.NotContains(t, d.sees("bob", "/a/"+a.Code), back)
	d.votes("bob", a.Code, approval.AllowOnce)
	require.Contains(t, d.sees("alice", "/a/"+a.Code), back)
	require.Contains(t, d.sees("carol", "/a/"+a.Code), back, "who asked for it may")
	require.Equal(t, http.StatusNotFound, d.asks("dave", http.MethodPost, back, url.Values{}).Code)
	out := d.asks("alice", http.MethodPost, back, url.Values{})
	require.Equal(t, http.StatusSeeOther, out.Code, out.Body.String())
	page := d.sees("alice", out.Header().Get("Location"))
	require.Contains(t, page, "Taken back. It will not run.")
	require.NotContains(t, page, back)
	require.Equal(t, "person:alice", d.get(a).RevokedBy)

	b := d.run("make other")
	d.sees("bob", "/a/"+b.Code)
	d.votes("bob", b.Code, approval.AllowOnce)
	_, err := d.gate.Claim(t.Context(), deployer, b.ID, core.ClaimInput{})
	require.NoError(t, err)
	require.NotContains(t, d.sees("bob", "/a/"+b.Code), "Take back")
	require.Equal(t, http.StatusConflict, d.asks("bob", http.MethodPost, "/a/"+b.Code+"/revoke", url.Values{}).Code)
}

// The options of a question are buttons: each allows it once, with that answer as its note.
func TestVote_Answers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask(card.QuestionTool, `{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,`+
		`"options":[{"label":"Green","description":""},{"label":"Blue","description":""}]}]}`)
	page := d.sees("bob", "/a/"+a.Code)
	require.Contains(t, page, `name="answer" value="2">Blue</button>`)
	require.Contains(t, page, ">Allow unanswered</button>")
	require.NotContains(t, page, `class="allow"`, "no other button looks like the answer")
	require.Equal(t, http.StatusBadRequest, d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote", url.Values{"answer": {"3"}}).Code)
	require.Empty(t, d.get(a).Votes)
	out := d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote", url.Values{"answer": {"2"}})
	require.Equal(t, http.StatusSeeOther, out.Code, out.Body.String())
	require.Equal(t, "Blue", d.get(a).Votes[0].Note)
	require.Equal(t, approval.AllowOnce, d.get(a).Decision)
}

// Of a row that can be allowed all that would run is in it; nothing else can be allowed from the list.
func TestInbox_ARowThatHoldsTheCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	whole := d.ask("exec", `{"command":"make it","workdir":"/srv/app"}`)
	for _, params := range []string{
		`{"command":"make it\nmake that"}`, `{"command":"make ` + strings.Repeat("x", maxHeld) + `"}`, `{"command":"make \u202e it"}`, `{"command":"make r\u0435port"}`,
	} {
		d.ask("exec", params)
	}
	page := d.sees("bob", "/")
	require.Equal(t, 1, strings.Count(page, `value="allow-once"`))
	_, row, _ := strings.Cut(page, `id="row-`+whole.Code)
	row, _, _ = strings.Cut(row, "</li>")
	require.Contains(t, row, "<code>make it</code> in <code>/srv/app</code>")
	require.Contains(t, row, `value="allow-once"`)
}

// Chips narrow the list, by the address; the tab counts what is shown.
func TestInbox_Chips(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	grave, mild := d.run("terraform destroy -auto-approve"), d.run("make it")
	mine := d.ask("exec", `{"command":"make mine"}`, func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob"} })
	page := d.sees("bob", "/")
	require.Contains(t, page, `href="?risk=R4"`)
	require.Contains(t, page, `href="?who=me"`)
	page = d.sees("bob", "/?risk=R3&who=me")
	require.Contains(t, page, mild.Code)
	require.NotContains(t, page, "row-"+grave.Code)
	require.NotContains(t, page, "row-"+mine.Code)
	require.Contains(t, page, `href="?who=me" aria-current="true"`, "a second click takes it away")
	require.Contains(t, d.sees("bob", "/?risk=R1"), "No waiting request matches.")
}

// Of a long call the page begins with how bad it could be and with the lines that make it so.
func TestPage_RiskBeforeALongCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run(strings.Repeat("aws s3 cp a s3://b/a\n", 60) + "rm -rf /var/lib/releases")
	page := d.sees("bob", "/a/"+a.Code)
	risk, telling, call := strings.Index(page, "R4 high impact"), strings.Index(page, `data-no="61"`), strings.Index(page, `class="call whole"`)
	require.Positive(t, risk)
	require.Less(t, risk, telling)
	require.Less(t, telling, call)
	short := d.sees("bob", "/a/"+d.run("make it").Code)
	require.Less(t, strings.Index(short, `class="call whole"`), strings.Index(short, "R3 external change or irreversible"))
}
