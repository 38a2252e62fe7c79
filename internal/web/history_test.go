package web

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// A search that ends before all is looked through says how far it came, and goes on from there.
func TestHistory_SaysHowFarASearchCame(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	needle := d.run("make needle")
	for i := range 5 {
		d.run("make hay" + strconv.Itoa(i))
	}
	p, v := readers{gate: d.gate}, reader{zone: time.UTC, now: time.Now(), caller: core.Caller{MayDecide: true}}
	f := historyFilter{Filter: core.Filter{Limit: 2}, search: "needle", most: 4}
	found, err := p.found(t.Context(), v, f, 50)
	require.NoError(t, err)
	require.Empty(t, found.all)
	var page strings.Builder
	require.NoError(t, historyPage(head{}, historyOf(v, url.Values{"q": {"needle"}}, found)).Render(t.Context(), &page))
	require.Contains(t, page.String(), "requests were looked through, back to Today.")
	require.Contains(t, page.String(), "Search older ones")
	require.NotContains(t, page.String(), "Nothing on record")
	f.Cursor = found.next
	found, err = p.found(t.Context(), v, f, 50)
	require.NoError(t, err)
	require.Equal(t, needle.Code, found.all[0].Code)
	require.Zero(t, found.backMs)
}
