package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/card"
	"approvalbot/internal/signin"
)

// viewerWait is how long a list is held back while it is as the viewer knows it.
const viewerWait = 25 * time.Second

// watched is what an <approval-dialog> lists.
type watched struct {
	State string        `json:"state"` // names the list as it is
	Items []watchedItem `json:"items"`
}

// watchedItem is the short form of a card: what a notification of it would show.
type watchedItem struct {
	Code        string `json:"code"`
	Title       string `json:"title"`
	Risk        string `json:"risk"`
	CreatedAtMs int64  `json:"createdAtMs"`
	ExpiresAtMs int64  `json:"expiresAtMs"`
}

// watchedPage answers a viewer's token with what waits in its session. With known, the
// state of an earlier answer, it waits until that is another one, for half a minute at most.
func (w *Web) watchedPage(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	if !w.fromEmbedder(out, r) {
		return
	}
	v, ok := w.viewer(r)
	if !ok {
		http.Error(out, "This viewer token does not count, or no longer: fetch another one.", http.StatusUnauthorized)
		return
	}
	leave, status := w.streams.enter(false, share{"viewer", v.Owner, v.SessionKey, streamsOfAViewer})
	if status != 0 {
		http.Error(out, "Too many lists of this session, or of all, are open.", status)
		return
	}
	defer leave()
	if w.cfg.Authenticated != nil {
		w.cfg.Authenticated(out, r)
	}
	out.Header().Set("Connection", "close") // so that nobody keeps more connections than requests
	list, err := w.awaitWatched(r, v, r.URL.Query().Get("known"))
	if err != nil {
		w.cfg.Log.Error("a viewer's list could not be made", "reason", err)
		http.Error(out, "The desk cannot do that right now.", http.StatusServiceUnavailable)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(list)
}

// viewer is whom the request's token is of, while its owner may ask.
func (w *Web) viewer(r *http.Request) (core.Viewer, bool) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	v, ok := w.cfg.Viewers.Read(token, time.Now().UnixMilli())
	return v, ok && bearer && w.cfg.Asks != nil && w.cfg.Asks(v.Owner)
}

// fromEmbedder lets a page of an origin that may embed read the answer, and answers all
// other pages with a refusal. What is no page names no origin.
func (w *Web) fromEmbedder(out http.ResponseWriter, r *http.Request) bool {
	h := out.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		return true
	case !slices.Contains(w.cfg.EmbedOrigins, origin):
		http.Error(out, "Pages of this origin may not ask: server.web.embedOrigins does not name it.", http.StatusForbidden)
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	return true
}

// preflight says to a browser that a page may send its token.
func (w *Web) preflight(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	if !w.fromEmbedder(out, r) {
		return
	}
	h := out.Header()
	h.Set("Access-Control-Allow-Methods", http.MethodGet)
	h.Set("Access-Control-Allow-Headers", "Authorization")
	h.Set("Access-Control-Max-Age", "600")
	out.WriteHeader(http.StatusNoContent)
}

// awaitWatched gives what waits in the viewer's session as soon as its state is not known.
func (w *Web) awaitWatched(r *http.Request, v core.Viewer, known string) (watched, error) {
	if w.cfg.Changes != nil {
		defer w.cfg.Changes.Listen()()
	}
	over := time.NewTimer(min(viewerWait, time.Until(time.UnixMilli(v.EndsMs))))
	defer over.Stop()
	for {
		var news <-chan struct{}
		if w.cfg.Changes != nil {
			news = w.cfg.Changes.News() // before the look, so that nothing is missed between the two
		}
		list, err := w.watchedNow(r.Context(), v)
		if err != nil || list.State != known {
			return list, err
		}
		select {
		case <-news:
		case <-over.C:
			return list, nil
		case <-w.closing:
			return list, nil
		case <-r.Context().Done():
			return list, nil
		}
	}
}

func (w *Web) watchedNow(ctx context.Context, v core.Viewer) (watched, error) {
	waiting, err := w.gate.Watched(ctx, v)
	if err != nil {
		return watched{}, err
	}
	list := watched{Items: make([]watchedItem, 0, len(waiting))}
	for _, a := range waiting {
		list.Items = append(list.Items, watchedItem{Code: a.Code, Title: card.Headline(a), Risk: a.Assessment.RiskClass.String(),
			CreatedAtMs: a.CreatedAtMs, ExpiresAtMs: a.ExpiresAtMs})
	}
	text, err := json.Marshal(list.Items)
	sum := sha256.Sum256(text)
	list.State = base64.RawURLEncoding.EncodeToString(sum[:12])
	return list, err
}

// embedScript serves the element to any page: it is public, and does nothing without a token.
func (w *Web) embedScript(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	h := out.Header()
	h.Del("Cache-Control") // it is nobody's
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	http.ServeFileFS(out, r, static, "static/approvalbot.js")
}
