package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/signin"
)

// votePages count what people decide on the page of an approval, and in the inbox.
type votePages struct {
	page
	ballots   ballots
	approvals *approvalPages
}

func (p *votePages) routes() []route {
	return []route{
		{pattern: "POST /a/{code}/vote", serve: p.vote},
		{pattern: "POST /a/{code}/again", serve: p.again},
		{pattern: "POST /a/{code}/revoke", serve: p.takeBack},
	}
}

// vote counts a form's vote. The first of two clicks counts, and the second gets the
// result.
func (p *votePages) vote(out http.ResponseWriter, r *http.Request, s signin.Session) {
	r.Body = http.MaxBytesReader(out, r.Body, maxFields)
	confirmed := cmp.Or(r.PostFormValue("confirm"), r.PostFormValue("confirmAnswer"))
	chosen := cmp.Or(r.PostFormValue("answer"), r.PostFormValue("confirmAnswer"))
	code, d := r.PathValue("code"), approval.Decision(cmp.Or(confirmed, r.PostFormValue("decision")))
	v := p.reader(s)
	p.fromRow(r.Context(), v, code, r.PostFormValue("held"))
	count := castVote(p.ballots.voteOn)
	if confirmed == "" {
		count = p.ballots.voteOnce
	}
	if d == approval.Retry {
		count = p.ballots.retryOn(r.PostFormValue("withoutResult") != "", confirmed != "", r.PostFormValue("after"))
	}
	note := r.PostFormValue("note")
	if chosen != "" {
		d = approval.AllowOnce
		var err error
		if note, err = p.answer(r, v, code, chosen); err != nil {
			p.notCounted(out, r, v, code, err)
			return
		}
	}
	a, err := count(r.Context(), s, code, d, r.PostFormValue("reason"), note)
	if err != nil {
		p.notCounted(out, r, v, code, err)
		return
	}
	if r.Header.Get("HX-Request") != "" {
		v.now = time.Now()
		text := a.Code + ": " + card.VotedText(a, s.Voter(), d, v.people, v.now.UnixMilli())
		p.show(out, http.StatusOK, votedNotice(text, a.Code, v.mayTakeBack(a), v.left(a.ClaimUntilMs)))
		return
	}
	back := "/a/" + a.Code
	if r.PostFormValue("from") == "inbox" {
		back = "/"
	}
	http.Redirect(out, r, back+"?"+url.Values{"voted": {a.Code}, "as": {string(d)}}.Encode(), http.StatusSeeOther)
}

// fromRow notes that a row has shown all that would run, as its ✓ proves by the fingerprint of it: a browser draws a ✓
// only at a width at which it draws the whole line. Sending a list does not count as showing it.
func (p *votePages) fromRow(ctx context.Context, v reader, code, held string) {
	if held == "" {
		return
	}
	a, err := p.find(ctx, v, code)
	if err != nil {
		return // as the vote will find
	}
	if r, err := drawRow(ctx, p.gate, v, a); err == nil && r.Allow && r.Held == held {
		p.ballots.shown.note(v.session, a)
	}
}

// answer is the note that says which option of a question was chosen, by its number on the page.
func (p *votePages) answer(r *http.Request, v reader, code, number string) (string, error) {
	a, err := p.find(r.Context(), v, code)
	if err != nil {
		return "", err
	}
	c, err := p.gate.Card(r.Context(), a)
	if err != nil {
		return "", err
	}
	n := card.OptionNumber(number)
	if n < 1 || n > len(c.Answers) {
		return "", approval.Refuse(approval.CodeMalformed,
			"%s has no answer with that number: load the page again.", a.Code)
	}
	return card.AnswerNote(c.Answers, n), nil
}

// takeBack takes an unclaimed allow back. The page that it leads to shows the result.
func (p *votePages) takeBack(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	a, err := p.find(r.Context(), v, r.PathValue("code"))
	if err == nil {
		a, err = p.gate.Chats().TakeBack(r.Context(), a.Key, core.Ballot{Voter: s.Voter()})
	}
	switch {
	case err != nil:
		p.notCounted(out, r, v, r.PathValue("code"), err)
	case r.Header.Get("HX-Request") != "":
		p.notice(out, http.StatusOK, a.Code+": "+takenBackText)
	default:
		http.Redirect(out, r, "/a/"+a.Code+"?"+url.Values{"voted": {a.Code}, "as": {takenBack}}.Encode(), http.StatusSeeOther)
	}
}

// again ends the cool-down that a deny of the approval left. The page that it leads to shows the result.
func (p *votePages) again(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	a, err := p.find(r.Context(), v, r.PathValue("code"))
	if err == nil {
		a, err = p.gate.EndCoolDown(r.Context(), a.Key, core.Ballot{Voter: s.Voter()})
	}
	switch {
	case err != nil:
		p.notCounted(out, r, v, r.PathValue("code"), err)
	case r.Header.Get("HX-Request") != "":
		p.notice(out, http.StatusOK, a.Code+": "+core.AskAgainText(a))
	default:
		http.Redirect(out, r, "/a/"+a.Code+"?"+url.Values{"voted": {a.Code}, "as": {askedAgain}}.Encode(), http.StatusSeeOther)
	}
}

// notCounted says why a vote did not count, above the approval in its present state. A
// person who may not see the approval is told that it does not exist.
func (p *votePages) notCounted(out http.ResponseWriter, r *http.Request, v reader, code string, err error) {
	a, missing := p.find(r.Context(), v, code)
	no, known := errors.AsType[*approval.Error](err)
	switch {
	case missing != nil:
		p.refuse(out, r, v.session, missing)
	case !known:
		p.refuse(out, r, v.session, err)
	case r.Header.Get("HX-Request") != "":
		p.notice(out, statusOf(err), a.Code+": "+no.Message)
	default:
		p.refusedVote(out, r, v, a.Code, no)
	}
}

// refusedVote shows the approval below the reason why a vote did not count.
func (p *votePages) refusedVote(out http.ResponseWriter, r *http.Request, v reader, code string, no *approval.Error) {
	a, err := p.approvals.view(r.Context(), v, code)
	if err != nil {
		p.refuse(out, r, v.session, err)
		return
	}
	p.approvals.answer(out, statusOf(no), v, a, no.Message)
}
