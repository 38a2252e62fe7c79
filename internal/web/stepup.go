package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// stepUpPages are those by which people keep passkeys, and sign a yes with one.
func (w *Web) stepUpPages() []page {
	return slices.Concat(w.passkeyPages(), []page{
		{"GET /a/{code}/sign", false, w.signPage},
		{"POST /a/{code}/stepup/begin", false, w.script(w.beginYes)},
		{"POST /a/{code}/stepup/finish", false, w.script(w.finishYes)},
	})
}

// signView is what the page shows on which a yes is signed.
type signView struct {
	Code   string
	Card   card.Card
	Until  string
	Shown  core.ShownCall  // what will be signed is what stands there
	May    bool            // the person may sign: they decide such a call, have a passkey, and all of it is shown
	Reason string          // why not
	Retry  core.RetryOffer // instead: what is signed is that it runs once more
}

// signPage shows a request in full, with a button to sign a yes. Who may neither decide
// it nor asked for it reads that there is none.
func (w *Web) signPage(out http.ResponseWriter, r *http.Request, s signin.Session) {
	a, err := w.concerned(r, s)
	if err != nil {
		w.notThere(out, r, err)
		return
	}
	directory := w.gate.Rules().People
	who := directory.Identify(s.Voter())
	payload, err := w.gate.Payload(r.Context(), a)
	if err != nil {
		w.notThere(out, r, err)
		return
	}
	held, err := w.signin.PasskeysOf(r.Context(), s)
	if err != nil {
		w.notThere(out, r, err)
		return
	}
	v := signView{Code: a.Code, Card: w.gate.CardOf(a, payload),
		Until: card.UntilText(a.ExpiresAtMs, w.zoneOf(s), time.Now().UnixMilli()),
		Shown: core.ShownCall{Fingerprint: a.Fingerprint, PolicyHash: w.gate.PolicyHash()}}
	if v.Retry, err = w.gate.RetryOffer(r.Context(), s.WebUser(), a); err != nil {
		w.notThere(out, r, err)
		return
	}
	if a.Final() && v.Retry.May { // the whole call is to be read before it runs again
		v.Card.Payload, v.Card.Summary = payload, ""
	}
	switch {
	case a.Final() && v.Retry.May && v.Retry.Sign && len(payload) > 0 && len(held.Held) > 0:
		v.May = true
	case a.Final():
	case !people.MayBeDecidedBy(a, who, directory) || people.MayNotDecide(a, who, directory):
		v.Reason = "You cannot allow this request."
	case len(payload) == 0:
		v.Reason = "The call itself cannot be shown, so it can only be denied."
	case len(held.Held) == 0:
		v.Reason = "You have no passkey. An operator lets you make one: approvalbot login --enrol " + s.Person
	default:
		v.May = true
	}
	w.show(out, http.StatusOK, signPage(w.head(s, "Sign "+a.Code), v))
}

// concerned gives the approval of a request's code, or CodeNotFound if the person may neither
// decide it nor asked for it: they do not learn that there is one.
func (w *Web) concerned(r *http.Request, s signin.Session) (approval.Approval, error) {
	a, err := w.gate.ByCode(r.Context(), r.PathValue("code"))
	directory := w.gate.Rules().People
	if approval.CodeOf(err) == approval.CodeNotFound || err == nil && !people.Concerns(a, directory.Identify(s.Voter()), directory) {
		return approval.Approval{}, noSuchRequest()
	}
	return a, err
}

// yesOptions is what the browser is given to have a yes signed.
type yesOptions struct {
	signOptions
	Nonce string `json:"nonce"`
}

func (w *Web) beginYes(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	var in struct {
		Fingerprint string `json:"fingerprint"`
		PolicyHash  string `json:"policyHash"`
		Retry       bool   `json:"retry"`
		After       int    `json:"after"`
	}
	if err := readScript(r, &in); err != nil {
		return nil, err
	}
	y, err := w.gate.BeginYes(r.Context(), s.WebUser(), r.PathValue("code"), core.ShownCall(in))
	if err != nil {
		return nil, err
	}
	return yesOptions{optionsOf(y.Site, base64.RawURLEncoding.EncodeToString(y.Challenge), y.Passkeys), y.Nonce}, nil
}

func (w *Web) finishYes(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	var in struct {
		Nonce    string             `json:"nonce"`
		Reason   string             `json:"reason"`
		Response assertion.Response `json:"response"`
		Retry    bool               `json:"retry"`
		// WithoutResult: of a retry, the person said that the run before has ended.
		WithoutResult bool `json:"withoutResult"`
	}
	if err := readScript(r, &in); err != nil {
		return nil, err
	}
	if _, err := w.concerned(r, s); err != nil {
		return nil, err
	}
	yes := core.SignedYes{Nonce: in.Nonce, Response: in.Response, Retry: in.Retry, WithoutResult: in.WithoutResult}
	a, err := w.gate.VoteSigned(r.Context(), s.WebUser(), r.PathValue("code"), yes, in.Reason)
	if err != nil {
		return nil, err
	}
	signed := approval.AllowOnce
	if in.Retry {
		signed = approval.Retry
	}
	return struct {
		scriptDone
		Text   string          `json:"text"` // what came of it
		Status approval.Status `json:"status"`
	}{scriptDone{"/a/" + a.Code}, card.VotedText(a, signed, w.gate.Rules().People, time.Now().UnixMilli()), a.Status}, nil
}

// maxScript bounds what a browser sends, in bytes.
const maxScript = 64 << 10

// readScript reads the body of a request from one of our scripts.
func readScript(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if d.Decode(into) != nil || d.Decode(new(any)) != io.EOF {
		return approval.Refuse(approval.CodeMalformed, "The page sent something else than it should: load it again.")
	}
	return nil
}

// script serves what our scripts ask for: an answer, or a refusal in the API's words.
func (w *Web) script(f func(http.ResponseWriter, *http.Request, signin.Session) (any, error)) func(
	http.ResponseWriter, *http.Request, signin.Session,
) {
	return func(out http.ResponseWriter, r *http.Request, s signin.Session) {
		r.Body = http.MaxBytesReader(out, r.Body, maxScript)
		body, err := f(out, r, s)
		status := http.StatusOK
		if err != nil {
			status = scriptStatus(err)
			if status == http.StatusInternalServerError {
				w.cfg.Log.Error("a page's request could not be answered", "path", r.Pattern, "reason", err)
			}
			no := &approval.Error{}
			_ = errors.As(err, &no)
			body = scriptRefusal{Code: no.Code, Detail: inWords(err), URL: no.URL}
		}
		text, err := json.Marshal(body)
		if err != nil { // plain values always marshal
			panic(err)
		}
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(status)
		_, _ = out.Write(text)
	}
}

// scriptRefusal is what a script is told.
type scriptRefusal struct {
	Code   approval.Code `json:"code,omitempty"`
	Detail string        `json:"detail"`
	URL    string        `json:"url,omitempty"`
}

// scriptStatus is the HTTP status of an error; what is no refusal is a fault of the desk.
func scriptStatus(err error) int {
	switch approval.CodeOf(err) {
	case "":
		return http.StatusInternalServerError
	case approval.CodeMalformed:
		return http.StatusBadRequest
	case approval.CodeNotFound:
		return http.StatusNotFound
	case approval.CodeAlreadyResolved, approval.CodeUnseenPayload, approval.CodeIDConflict, approval.CodeDecisionNotOffered:
		return http.StatusConflict
	case approval.CodeInvalidRequest:
		return http.StatusUnprocessableEntity
	case approval.CodeRateLimited:
		return http.StatusTooManyRequests
	case approval.CodeUnavailable, approval.CodeApprovalsDisabled:
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// inWords is an error in words for people.
func inWords(err error) string {
	if approval.CodeOf(err) == "" {
		return "The desk cannot answer right now; its log says why."
	}
	no := &approval.Error{}
	_ = errors.As(err, &no)
	return no.Message
}

// notThere answers with a page that says what is wrong.
func (w *Web) notThere(out http.ResponseWriter, r *http.Request, err error) {
	if scriptStatus(err) == http.StatusInternalServerError {
		w.cfg.Log.Error("a page could not be shown", "path", r.Pattern, "reason", err)
	}
	s, _ := w.who(r)
	w.show(out, scriptStatus(err), alertPage(w.head(s, "Not there"), inWords(err)))
}
