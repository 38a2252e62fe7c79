package web

import (
	"encoding/base64"
	"net/http"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// stepUpPages are those by which people sign a yes with a passkey.
type stepUpPages struct {
	page
	signin *signin.Door // passkeys
}

func (p *stepUpPages) routes() []route {
	return []route{
		{pattern: "GET /a/{code}/sign", serve: p.sign},
		{pattern: "POST /a/{code}/stepup/begin", serve: p.script(p.beginYes)},
		{pattern: "POST /a/{code}/stepup/finish", serve: p.script(p.finishYes)},
	}
}

// signView is what the page shows on which a yes is signed.
type signView struct {
	approvalView
	Shown  core.ShownCall // exactly what is shown will be signed
	May    bool           // the person may sign: they decide such a call, have a passkey, and all of it is shown
	Reason string         // why not
}

// sign shows a request in full, with a button to sign a yes. A person who may not
// decide it and did not ask for it is told that it does not exist.
func (p *stepUpPages) sign(out http.ResponseWriter, r *http.Request, s signin.Session) {
	a, err := p.concerned(r, s)
	if err != nil {
		p.notThere(out, r, s, err)
		return
	}
	directory := p.gate.Rules().People
	who := directory.Identify(s.Voter())
	payload, err := p.gate.Cards().Payload(r.Context(), a)
	if err != nil {
		p.notThere(out, r, s, err)
		return
	}
	held, err := p.signin.PasskeysOf(r.Context(), s)
	if err != nil {
		p.notThere(out, r, s, err)
		return
	}
	v := signView{Shown: core.ShownCall{Fingerprint: a.Fingerprint, PolicyHash: p.gate.PolicyHash()}}
	retry, err := p.gate.Pages().RetryOffer(r.Context(), s.WebUser(), a)
	if err != nil {
		p.notThere(out, r, s, err)
		return
	}
	if a.Final() && !retry.May { // the whole call is there only to be read before it runs again
		payload = nil
	}
	v.approvalView, v.Retry = drawn(p.gate, p.reader(s), a, payload, 0), retry
	switch {
	case a.Final() && v.Retry.May && v.Retry.Sign && len(payload) > 0 && len(held.Held) > 0:
		v.May = true
	case a.Final():
	case !people.MayBeDecidedBy(a, who, directory) || people.MayNotDecide(a, who, directory):
		v.Reason = "You cannot allow this request."
	case len(payload) == 0:
		v.Reason = "The desk cannot show this call, so you can only deny it."
	case len(held.Held) == 0:
		v.Reason = "You have no passkey. To let you register one, an operator runs: approvalbot login " +
			"--enrol " + s.Person
	default:
		v.May = true
	}
	p.show(out, http.StatusOK, signPage(p.head(s, "Sign "+a.Code), v))
}

// concerned gives the approval of a request's code, or CodeNotFound if the person may neither
// decide it nor asked for it: they do not learn that there is one.
func (p *stepUpPages) concerned(r *http.Request, s signin.Session) (approval.Approval, error) {
	a, err := p.gate.ByCode(r.Context(), r.PathValue("code"))
	directory := p.gate.Rules().People
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

func (p *stepUpPages) beginYes(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	var in struct {
		Fingerprint string `json:"fingerprint"`
		PolicyHash  string `json:"policyHash"`
		Retry       bool   `json:"retry"`
		After       int    `json:"after"`
	}
	if err := readScript(r, &in); err != nil {
		return nil, err
	}
	y, err := p.gate.Pages().BeginYes(r.Context(), s.WebUser(), r.PathValue("code"), core.ShownCall(in))
	if err != nil {
		return nil, err
	}
	return yesOptions{optionsOf(y.Site, base64.RawURLEncoding.EncodeToString(y.Challenge), y.Passkeys), y.Nonce}, nil
}

func (p *stepUpPages) finishYes(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
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
	if _, err := p.concerned(r, s); err != nil {
		return nil, err
	}
	yes := core.SignedYes{Nonce: in.Nonce, Response: in.Response, Retry: in.Retry, WithoutResult: in.WithoutResult}
	a, err := p.gate.Pages().VoteSigned(r.Context(), s.WebUser(), r.PathValue("code"), yes, in.Reason)
	if err != nil {
		return nil, err
	}
	signed := approval.AllowOnce
	if in.Retry {
		signed = approval.Retry
	}
	return struct {
		scriptDone
		Text   string          `json:"text"` // the result
		Status approval.Status `json:"status"`
	}{scriptDone{"/a/" + a.Code}, card.VotedText(a, s.Voter(), signed, p.gate.Rules().People, time.Now().UnixMilli()), a.Status}, nil
}
