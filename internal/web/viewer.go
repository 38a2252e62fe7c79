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

// viewerPages list what waits for pages of other sites.
type viewerPages struct {
	page
	authenticated func(http.ResponseWriter, *http.Request) // nil: ignored
	streams       *streams
	changes       Changes // nil: a list is answered at once
	closing       <-chan struct{}
	key           core.ViewerKey          // reads the tokens of who looks at such a list
	asks          func(owner string) bool // whether an API token of that name still may ask
	origins       []string                // of pages that may list what waits
}

func (p *viewerPages) routes() []route {
	return []route{
		{pattern: "GET /viewer/approvals", open: true, serve: p.watchedPage},
		{pattern: "OPTIONS /viewer/approvals", open: true, serve: p.preflight},
		{pattern: "GET /static/approvalbot.js", open: true, serve: p.embedScript},
	}
}

// watched is what an <approval-dialog> lists.
type watched struct {
	State string        `json:"state"` // names the list in its present state
	Items []watchedItem `json:"items"`
}

// watchedItem is the short form of a card: the content of a notification.
type watchedItem struct {
	Code        string `json:"code"`
	Title       string `json:"title"`
	Risk        string `json:"risk"`
	CreatedAtMs int64  `json:"createdAtMs"`
	ExpiresAtMs int64  `json:"expiresAtMs"`
}

// watchedPage answers a viewer's token with the pending approvals of its session. With
// known, the state of an earlier answer, it waits until the state differs, for half a minute
// at most.
func (p *viewerPages) watchedPage(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	if !p.fromEmbedder(out, r) {
		return
	}
	v, ok := p.viewer(r)
	if !ok {
		http.Error(out, "This viewer token is not valid, or no longer valid: fetch a new one.", http.StatusUnauthorized)
		return
	}
	leave, status := p.streams.enter(false, share{"viewer", v.Owner, v.SessionKey, streamsOfAViewer})
	if status != 0 {
		http.Error(out, "Too many lists are open, for this session or in total.", status)
		return
	}
	defer leave()
	if p.authenticated != nil {
		p.authenticated(out, r)
	}
	out.Header().Set("Connection", "close") // so that a caller never keeps more connections than requests
	list, err := p.awaitWatched(r, v, r.URL.Query().Get("known"))
	if err != nil {
		p.log.Error("could not read the requests for the list embedded in a runtime; the page shows an error",
			"owner", v.Owner, "sessionKey", v.SessionKey, "reason", err)
		http.Error(out, "The desk cannot do that right now.", http.StatusServiceUnavailable)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(list)
}

// viewer is the viewer that the request's token was made for, as long as the token's owner may ask.
func (p *viewerPages) viewer(r *http.Request) (core.Viewer, bool) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	v, ok := p.key.Read(token, time.Now().UnixMilli())
	return v, ok && bearer && p.asks != nil && p.asks(v.Owner)
}

// fromEmbedder lets a page of an origin that may embed read the answer, and answers all
// other pages with a refusal. A client that is not a page names no origin.
func (p *viewerPages) fromEmbedder(out http.ResponseWriter, r *http.Request) bool {
	h := out.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		return true
	case !slices.Contains(p.origins, origin):
		http.Error(out, "Pages of this origin may not ask, because server.web.embedOrigins does not name the "+
			"origin.", http.StatusForbidden)
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	return true
}

// preflight says to a browser that a page may send its token.
func (p *viewerPages) preflight(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	if !p.fromEmbedder(out, r) {
		return
	}
	h := out.Header()
	h.Set("Access-Control-Allow-Methods", http.MethodGet)
	h.Set("Access-Control-Allow-Headers", "Authorization")
	h.Set("Access-Control-Max-Age", "600")
	out.WriteHeader(http.StatusNoContent)
}

// awaitWatched gives what waits in the viewer's session as soon as its state is not known.
func (p *viewerPages) awaitWatched(r *http.Request, v core.Viewer, known string) (watched, error) {
	if p.changes != nil {
		defer p.changes.Listen()()
	}
	over := time.NewTimer(min(viewerWait, time.Until(time.UnixMilli(v.EndsMs))))
	defer over.Stop()
	for {
		var news <-chan struct{}
		if p.changes != nil {
			news = p.changes.News() // before the look, so that no change between the two is missed
		}
		list, err := p.watchedNow(r.Context(), v)
		if err != nil || list.State != known {
			return list, err
		}
		select {
		case <-news:
		case <-over.C:
			return list, nil
		case <-p.closing:
			return list, nil
		case <-r.Context().Done():
			return list, nil
		}
	}
}

func (p *viewerPages) watchedNow(ctx context.Context, v core.Viewer) (watched, error) {
	waiting, err := p.gate.Pages().Watched(ctx, v)
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

// embedScript serves the element to any page: it is public, and shows no data without a token.
func (p *viewerPages) embedScript(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	h := out.Header()
	h.Del("Cache-Control") // it is public
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	http.ServeFileFS(out, r, static, "static/approvalbot.js")
}
