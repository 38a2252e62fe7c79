package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// pushDevices is what the page of a person's notifications shows.
type pushDevices struct {
	Key      string // the desk's public key, which a browser subscribes with; empty if notifications are off
	Browsers []pushDevice
}

type pushDevice struct {
	ID, Name, Since string
}

// pushPages are a person's notifications in browsers.
type pushPages struct {
	page
	signin *signin.Door // subscriptions
	key    string       // the desk's public key at push services; empty if browsers are not notified
}

func (p *pushPages) routes() []route {
	return []route{
		{pattern: "GET /me/push", serve: p.notifications},
		{pattern: "POST /me/push", serve: p.subscribe},
		{pattern: "POST /me/push/end", serve: p.unsubscribe},
	}
}

// notifications lists the browsers in which the person is notified.
func (p *pushPages) notifications(out http.ResponseWriter, r *http.Request, s signin.Session) {
	all, err := p.signin.Subscriptions(r.Context(), s)
	if err != nil {
		p.log.Error("could not read which browsers notify a person", "person", s.Person, "reason", err)
		http.Error(out, "The desk cannot do that right now.", http.StatusServiceUnavailable)
		return
	}
	data := pushDevices{Key: p.key}
	for _, one := range all {
		data.Browsers = append(data.Browsers,
			pushDevice{ID: one.ID, Name: one.Browser, Since: time.UnixMilli(one.CreatedMs).UTC().Format("2 January 2006, 15:04 MST")})
	}
	p.show(out, http.StatusOK, pushPage(p.head(s, "Notifications"), data))
}

// subscribe keeps what a browser's Push API gave the page, as JSON.
func (p *pushPages) subscribe(out http.ResponseWriter, r *http.Request, s signin.Session) {
	if p.key == "" {
		http.Error(out, "This desk notifies no browsers: server.web.push.vapidKeyFile is not set.", http.StatusNotFound)
		return
	}
	var given struct {
		Endpoint string
		Keys     struct{ P256dh, Auth string }
	}
	if err := json.NewDecoder(http.MaxBytesReader(out, r.Body, 16<<10)).Decode(&given); err != nil {
		http.Error(out, "A subscription must be JSON, as the Push API gives it.", http.StatusBadRequest)
		return
	}
	err := p.signin.Subscribe(r.Context(), s, signin.PushSubscription{
		Endpoint: given.Endpoint, P256dh: given.Keys.P256dh, Auth: given.Keys.Auth, Browser: r.UserAgent(),
	})
	var no *approval.Error
	switch {
	case err == nil:
		out.WriteHeader(http.StatusNoContent)
	case errors.As(err, &no):
		http.Error(out, no.Message, http.StatusUnprocessableEntity)
	default:
		p.log.Error("could not save a browser's notification subscription; the person gets no notifications in that browser",
			"person", s.Person, "reason", err)
		http.Error(out, "The desk cannot do that right now.", http.StatusServiceUnavailable)
	}
}

// unsubscribe ends one of the person's subscriptions.
func (p *pushPages) unsubscribe(out http.ResponseWriter, r *http.Request, s signin.Session) {
	r.Body = http.MaxBytesReader(out, r.Body, 16<<10)
	if err := p.signin.Unsubscribe(r.Context(), s, r.PostFormValue("id")); err != nil {
		p.log.Error("could not remove a browser's notification subscription; the person still gets notifications in that browser",
			"person", s.Person, "reason", err)
		http.Error(out, "The desk cannot do that right now.", http.StatusServiceUnavailable)
		return
	}
	http.Redirect(out, r, "/me/push", http.StatusSeeOther)
}
