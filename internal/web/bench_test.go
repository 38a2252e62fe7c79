package web

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// What people wait for with a thousand requests before them, in milliseconds: from asking
// for the inbox to its first paint, and from a decision that somebody gives elsewhere until
// its row has left.
func BenchmarkInbox(b *testing.B) {
	d := openDesk(b, "sqlite::memory:")
	d.address = d.serve("")
	for i := range 1000 {
		d.run(fmt.Sprintf("make it-%d", i))
	}
	p := d.open(chromium(b), "alice", "/", 360)
	var painted, left []float64
	for b.Loop() {
		p.goTo("/")
		p.live()
		painted = append(painted, evaluate[float64](p, `new Promise(done =>
  new PerformanceObserver(all => done(all.getEntries()[0].startTime)).observe({type: "paint", buffered: true}))`))
		left = append(left, d.leaves(p, d.codes()[0]))
	}
	b.ReportMetric(median(painted), "paint-ms")
	b.ReportMetric(median(left), "leave-ms")
}

// leaves has bob deny a request in a chat of his, and says after how many milliseconds its
// row has left alice's page.
func (d *desk) leaves(p *tab, code string) float64 {
	d.t.Helper()
	gone := make(chan float64, 1)
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`window.gone = new Promise(done => {
  const look = () => document.getElementById("row-%s") || done(Date.now());
  new MutationObserver(look).observe(document.body, {childList: true, subtree: true});
}), undefined`, code)))
	go func() { gone <- evaluate[float64](p, "window.gone") }()
	a, err := d.gate.ByCode(d.t.Context(), code)
	require.NoError(d.t, err)
	began := time.Now().UnixMilli()
	_, err = d.gate.Vote(d.t.Context(), a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"}, Decision: approval.Deny})
	require.NoError(d.t, err)
	return <-gone - float64(began)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
