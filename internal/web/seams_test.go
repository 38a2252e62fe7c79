package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// What answers no more than a sentence, or nothing at all, has shown no call: the next
// click allows no more than the first did.
func TestAdversary_S1_AnAnswerWithoutThePageShowsNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("terraform plan -out p")
	script := func(r *http.Request) { r.Header.Set("HX-Request", "true") }
	for range 3 {
		out := d.votes("bob", a.Code, approval.AllowOnce, script)
		require.Equal(t, http.StatusConflict, out.Code)
		require.Contains(t, out.Body.String(), "You have not been shown all of what "+a.Code+" would run")
	}
	for _, path := range []string{"/", "/a/" + a.Code, "/a/" + a.Code + "/call", "/dialog/" + a.Code, "/live"} {
		require.Equal(t, http.StatusMethodNotAllowed, d.asks("bob", http.MethodHead, path, nil).Code, path)
		require.Equal(t, http.StatusConflict, d.votes("bob", a.Code, approval.AllowOnce, script).Code, path)
	}
	require.Equal(t, approval.Pending, d.get(a).Status)
}

// A file that another site's page has the browser download was not asked for by anybody who
// reads it.
func TestAdversary_S1_ADownloadThatAnotherSiteBegan(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask("write", `{"path":"x","content":"`+strings.Repeat("all work and no play\\n", 8000)+`rm -rf /"}`)
	from := func(site string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) }
	}
	for _, site := range []string{"cross-site", "same-site"} {
		require.Equal(t, http.StatusOK, d.asks("bob", http.MethodGet, "/a/"+a.Code+"/call", nil, from(site)).Code)
		require.NotContains(t, d.sees("bob", "/a/"+a.Code), "Allow once", site)
		require.Equal(t, http.StatusConflict, d.votes("bob", a.Code, approval.AllowOnce).Code, site)
	}
	d.asks("bob", http.MethodGet, "/a/"+a.Code+"/call", nil, from("same-origin"))
	require.Equal(t, http.StatusSeeOther, d.votes("bob", a.Code, approval.AllowOnce).Code)
}

// Whatever ends a line for a stream of events ends no line of what it carries.
func TestAdversary_N5_LinesInAStream(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\revent: signedout\rb", "a\r\nevent: signedout\r\nb", "a\nevent: signedout\nb"} {
		got := string(message([]byte(text)))
		for _, l := range strings.FieldsFunc(got, func(r rune) bool { return r == '\r' || r == '\n' }) {
			require.True(t, strings.HasPrefix(l, "data: "), "%q", got)
		}
	}
}

// No page of somebody who was signed in is kept by a browser or a proxy.
func TestAdversary_N3_NoPageIsKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("terraform plan -out p")
	for _, path := range []string{"/", "/a/" + a.Code, "/a/" + a.Code + "/sign", "/dialog/" + a.Code, "/history", "/me/passkeys",
		"/signin?link=x"} {
		out := d.asks("bob", http.MethodGet, path, nil)
		require.Equal(t, "no-store", out.Header().Get("Cache-Control"), path)
	}
	require.Empty(t, d.asks("", http.MethodGet, "/static/approvalbot.js", nil).Header().Get("Cache-Control"))
}

// The verifier's people find the approvals that ask them, with the page where a yes is
// signed, and no others; they are no operators.
func TestVerifiersPeopleFindWhatAsksThem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	v := d.web.reader(signin.Session{Person: "dave"})
	a := approval.Approval{
		Ended:  approval.Ended{Status: approval.Pending},
		Judged: approval.Judged{Rule: approval.Rule{Verifier: &approval.VerifierNeed{Accounts: []string{"telegram:4"}, Optional: true}}},
	}
	require.True(t, v.sees(a))
	a.Rule.Verifier.Accounts = []string{"telegram:3"}
	require.False(t, v.sees(a))
	require.False(t, v.operates())
}

// A page that could not be made has shown nothing.
func TestAdversary_S1_APageThatFailed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("terraform plan -out p")
	d.web.approvals.entries = unreadable{}
	require.Equal(t, http.StatusServiceUnavailable, d.asks("bob", http.MethodGet, "/a/"+a.Code, nil).Code)
	d.web.approvals.entries = nil
	require.Equal(t, http.StatusConflict, d.votes("bob", a.Code, approval.AllowOnce).Code)
}

// unreadable is a log that cannot be read.
type unreadable struct{}

func (unreadable) Log(context.Context, int64, int) ([]approval.Entry, error) {
	return nil, errors.New("the disk is gone")
}

func (unreadable) Head(context.Context) (int64, string, error) {
	return 0, "", errors.New("the disk is gone")
}

// A spreadsheet that parts cells by semicolons, as those of many languages do, finds no
// formula behind one either.
func TestAdversary_N5_FormulasBehindASemicolon(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"=1": "'=1", "a;=1": "a;'=1", "a;+1;-1;@b": "a;'+1;'-1;'@b", "a=1; b": "a=1; b", "ls; -x": "ls; -x", "": "",
	} {
		require.Equal(t, want, plainCell(cell))
	}
}
