package web

import (
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The worker shows what a push says and nothing else of it, also where that is nothing.
func TestTheServiceWorkerShowsAPush(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	origin := as(t, d.url, "localhost")
	b := &window{t, startChromium(t, origin)}
	_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
		Origin: origin, Permission: &cdpbrowser.PermissionDescriptor{Name: "notifications"}, Setting: cdpbrowser.PermissionSettingGranted})
	require.NoError(t, err)
	registered := chromedp.Events(b.ctx, serviceworker.WorkerRegistrationUpdated)
	call(b, serviceworker.Enable, cdp.Empty{})
	b.open(origin + "/static/icon.svg")
	b.open(origin + "/viewer/approvals") // any page of the origin, without a policy in the way of this test's scripts
	eval[bool](b, `navigator.serviceWorker.register("/static/sw.js").then((r) => { window.worker = r; return true })`)
	b.until(`worker.active && worker.active.state === "activated"`)
	id := ""
	for event, err := range registered {
		require.NoError(t, err)
		if len(event.Registrations) > 0 {
			id = string(event.Registrations[0].RegistrationID)
			break
		}
	}
	for data, want := range map[string]string{
		`{"code":"7KQ2AB","risk":"R4","tool":"exec"}`:                    "Approval 7KQ2AB waits for you|R4 · exec|7KQ2AB",
		`{"code":"../../evil","risk":"R2","tool":"<b>x","url":"//evil"}`: "Approval waits for you|R2 · <b>x|",
		`no JSON`: "Approval waits for you| · |",
	} {
		const shown = `worker.getNotifications().then((all) =>
  [...new Set(all.map((n) => [n.title, n.body, n.data.code].join("|")))].join())`
		for tries := 0; eval[string](b, shown) != want; tries++ {
			if tries%200 == 0 { // a browser under load may lose one
				call(b, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: origin,
					RegistrationID: serviceworker.RegistrationID(id), Data: data})
			}
			time.Sleep(10 * time.Millisecond)
		}
		for eval[int](b, `worker.getNotifications().then((all) => { all.forEach((n) => n.close()); return all.length })`) > 0 {
			time.Sleep(10 * time.Millisecond) // one that closes late would take the next one of its tag along
		}
	}
}
