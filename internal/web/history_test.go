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
	needle := d.run("sudo rm -rf /srv")
	for i := range 5 {
		d.run("make hay" + strconv.Itoa(i))
	}
	p, v := readers{gate: d.gate}, reader{zone: time.UTC, now: time.Now(), caller: core.Caller{MayDecide: true}}
	f := historyFilter{Filter: core.Filter{Limit: 2}, risk: "R4", most: 4}
	found, err := p.found(t.Context(), v, f, 50)
	require.NoError(t, err)
	require.Empty(t, found.all)
	var page strings.Builder
	require.NoError(t, historyPage(head{}, historyOf(v, url.Values{"risk": {"R4"}}, found)).Render(t.Context(), &page))
	require.Contains(t, page.String(), "came as far back as Today.")
	require.Contains(t, page.String(), "Search older ones")
	require.NotContains(t, page.String(), "No request on record")
	f.Cursor = found.next
	found, err = p.found(t.Context(), v, f, 50)
	require.NoError(t, err)
	require.Equal(t, needle.Code, found.all[0].Code)
	require.Zero(t, found.backMs)
}
