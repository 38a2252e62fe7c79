package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// No figure has more than three digits, and one thing is one thing.
func TestFigures(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1 k", 12_345: "12.3 k", 999_499: "999 k", 999_500: "1 M", 1_234_567: "1.23 M"} {
		require.Equal(t, want, digits(n))
	}
	require.Equal(t, "1 call", counted(1, "call", "calls"))
	require.Equal(t, "12 calls", counted(12, "call", "calls"))
	require.Equal(t, "83 %", percent(10, 12))
	require.Equal(t, "–", percent(0, 0))
}

// A time is said in relation to now, and exactly in the zone of the page; days have names.
func TestTimes(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	v := reader{zone: berlin, now: time.Date(2026, 11, 28, 0, 30, 0, 0, berlin)}
	at := func(d time.Duration) int64 { return v.now.Add(d).UnixMilli() }
	require.Equal(t, "just now", v.ago(at(-59*time.Second)).Text)
	require.Equal(t, "3 min ago", v.ago(at(-3*time.Minute)).Text)
	require.Equal(t, "8 min", v.left(at(8*time.Minute)).Text)
	require.Equal(t, stamp{ISO: "2026-11-27T23:27:00Z", Exact: "28 Nov 2026 00:27:00 CET", Text: "00:27:00", Kind: "clock"}, v.clock(at(-3*time.Minute)))
	require.Empty(t, v.ago(0))
	require.Equal(t, "Today", v.day(at(-30*time.Minute)))
	require.Equal(t, "Yesterday", v.day(at(-31*time.Minute)))
	require.Equal(t, "Thursday 26 November 2026", v.day(at(-25*time.Hour)))
}

// A page has one zone: that of the person, else one that a script may take the browser's instead of, but where the
// desk has put times into days.
func TestOneZoneOfAPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.Contains(t, d.sees("alice", "/"), `<span data-zone data-own>Europe/Berlin</span>`)
	require.Contains(t, d.sees("bob", "/"), `<span data-zone>`)
	require.Contains(t, d.sees("bob", "/history"), `<span data-zone data-own>`)
}

// Accounts that are somebody's have that name on every page.
func TestPeopleHaveNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.run("make it")
	_, err := d.gate.Vote(t.Context(), a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"}, Decision: approval.Deny})
	require.NoError(t, err)
	for _, path := range []string{"/a/" + a.Code, "/audit", "/history", "/grants", "/numbers"} {
		page := d.sees("alice", path)
		require.Contains(t, page, "bob", path)
		require.NotContains(t, strings.Split(page, "<pre>")[0], "telegram:2", path)
		require.NotContains(t, page, "telegram user 2", path)
	}
}

// A mistyped address is a page that leads back, with the pages that the person may open above it.
func TestNoSuchPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	out := d.asks("alice", http.MethodGet, "/histroy", nil)
	require.Equal(t, http.StatusNotFound, out.Code)
	for _, want := range []string{"There is no such page", "/histroy", `<a href="/">To the inbox</a>`, `<a href="/history">History</a>`} {
		require.Contains(t, out.Body.String(), want)
	}
	require.NotContains(t, d.asks("", http.MethodGet, "/histroy", nil).Body.String(), `href="/history"`)
}

// Who may only ask has the pages that they may open, and no others; the desk's own are under one entry.
func TestNavigation(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.NotContains(t, d.sees("carol", "/"), "<summary>Desk</summary>")
	require.NotContains(t, d.sees("carol", "/"), `href="/grants"`)
	page := d.sees("alice", "/people")
	nav, desk, _ := strings.Cut(page, "<summary>Desk</summary>")
	for _, path := range []string{`href="/history"`, `href="/grants"`} {
		require.Contains(t, nav, path)
	}
	for _, path := range []string{`href="/policy"`, `href="/people" aria-current="page"`, `href="/numbers"`, `href="/audit"`, `href="/health"`} {
		require.Contains(t, desk, path)
	}
}
