package web

import (
	"cmp"
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// maxFields bounds the body of a form, in bytes.
const maxFields = 64 << 10

// statuses are how pages answer refusals; any other is a conflict with how things stand.
var statuses = map[approval.Code]int{
	approval.CodeNotFound: http.StatusNotFound, approval.CodeForbidden: http.StatusForbidden,
	approval.CodeNotAnApprover: http.StatusForbidden, approval.CodeSelfApproval: http.StatusForbidden,
	approval.CodeStepUpRequired: http.StatusForbidden,
	approval.CodeInvalidRequest: http.StatusBadRequest, approval.CodeMalformed: http.StatusBadRequest,
	approval.CodePayloadTooLarge: http.StatusRequestEntityTooLarge, approval.CodeRateLimited: http.StatusTooManyRequests,
	approval.CodeUnavailable: http.StatusServiceUnavailable, "": http.StatusServiceUnavailable,
}

func statusOf(err error) int { return cmp.Or(statuses[approval.CodeOf(err)], http.StatusConflict) }

// vote counts what a form says. The first of two clicks counts, and the second says what
// became of it.
func (w *Web) vote(out http.ResponseWriter, r *http.Request, s signin.Session) {
	r.Body = http.MaxBytesReader(out, r.Body, maxFields)
	confirmed := r.PostFormValue("confirm")
	code, d := r.PathValue("code"), approval.Decision(cmp.Or(confirmed, r.PostFormValue("decision")))
	v := w.reader(s)
	count := castVote(w.voteOn)
	if confirmed == "" {
		count = w.voteOnce
	}
	if d == approval.Retry {
		count = w.retryOn(r.PostFormValue("withoutResult") != "", confirmed != "", r.PostFormValue("after"))
	}
	a, err := count(r.Context(), s, code, d, r.PostFormValue("reason"))
	if err != nil {
		w.notCounted(out, r, v, code, err)
		return
	}
	if r.Header.Get("HX-Request") != "" {
		w.notice(out, http.StatusOK, a.Code+": "+card.VotedText(a, d, v.people, time.Now().UnixMilli()))
		return
	}
	back := "/a/" + a.Code
	if r.PostFormValue("from") == "inbox" {
		back = "/"
	}
	http.Redirect(out, r, back+"?"+url.Values{"voted": {a.Code}, "as": {string(d)}}.Encode(), http.StatusSeeOther)
}

// voteOn counts a vote of who is signed in. An allow counts only where this desk has shown
// that session the whole call.
func (w *Web) voteOn(ctx context.Context, s signin.Session, code string, d approval.Decision,
	reason string) (approval.Approval, error) {
	a, err := w.gate.ByCode(ctx, code)
	if err != nil {
		return a, err
	}
	if w.shown.to(s, a) {
		return w.gate.VoteOnWeb(ctx, s.WebUser(), a.Code, d, reason)
	}
	return w.gate.VoteUnseen(ctx, s.WebUser(), a.Code, d, reason)
}

// voteOnce is voteOn for a form that did not ask a second time.
func (w *Web) voteOnce(ctx context.Context, s signin.Session, code string, d approval.Decision,
	reason string) (approval.Approval, error) {
	a, err := w.gate.ByCode(ctx, code)
	if err == nil && d.Allows() && w.shown.to(s, a) {
		return w.gate.VoteUnconfirmed(ctx, s.WebUser(), a.Code, d, reason)
	}
	return w.voteOn(ctx, s, code, d, reason)
}

// retryOn counts a "retry" likewise. after is the number of retries that the page showed.
func (w *Web) retryOn(withoutResult, confirmed bool, after string) castVote {
	return func(ctx context.Context, s signin.Session, code string, _ approval.Decision, reason string) (approval.Approval, error) {
		a, err := w.gate.ByCode(ctx, code)
		if err != nil {
			return a, err
		}
		if !confirmed && core.ConfirmsTwice(a) {
			return a, approval.Refuse(core.CodeUnconfirmed, "Not counted yet: open Retry on the request's page, and confirm it.")
		}
		n, err := strconv.Atoi(after)
		if err != nil {
			return a, approval.Refuse(approval.CodeMalformed, "The page does not say which run it was of: load it again.")
		}
		return w.gate.RetryOnWeb(ctx, s.WebUser(), a.Code, reason, withoutResult, !w.shown.to(s, a), n)
	}
}

// again ends the cool-down that a deny of the approval left. The page that it leads to says what became of it.
func (w *Web) again(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := w.reader(s)
	a, err := w.find(r.Context(), v, r.PathValue("code"))
	if err == nil {
		a, err = w.gate.EndCoolDown(r.Context(), a.Key, core.Ballot{Voter: s.Voter()})
	}
	switch {
	case err != nil:
		w.notCounted(out, r, v, r.PathValue("code"), err)
	case r.Header.Get("HX-Request") != "":
		w.notice(out, http.StatusOK, a.Code+": "+core.AskAgainText(a))
	default:
		http.Redirect(out, r, "/a/"+a.Code+"?"+url.Values{"voted": {a.Code}, "as": {askedAgain}}.Encode(), http.StatusSeeOther)
	}
}

// askedAgain is no decision: the cool-down was to end.
const askedAgain = "again"

// notCounted says why a vote did not count, above the approval as it stands. Whoever may
// not see the approval learns no more than that there is none.
func (w *Web) notCounted(out http.ResponseWriter, r *http.Request, v reader, code string, err error) {
	a, missing := w.find(r.Context(), v, code)
	no, known := errors.AsType[*approval.Error](err)
	switch {
	case missing != nil:
		w.refuse(out, v.session, missing)
	case !known:
		w.refuse(out, v.session, err)
	case r.Header.Get("HX-Request") != "":
		w.notice(out, statusOf(err), a.Code+": "+no.Message)
	default:
		w.refusedVote(out, r, v, a.Code, no)
	}
}

// refusedVote shows the approval below the sentence that says why a vote did not count.
func (w *Web) refusedVote(out http.ResponseWriter, r *http.Request, v reader, code string, no *approval.Error) {
	a, err := w.approvalView(r.Context(), v, code)
	if err != nil {
		w.refuse(out, v.session, err)
		return
	}
	w.showApproval(out, statusOf(no), v, a, no.Message)
}

// notice answers a script with a sentence alone.
func (w *Web) notice(out http.ResponseWriter, status int, text string) {
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.WriteHeader(status)
	_, _ = out.Write([]byte(html.EscapeString(text)))
}

// voted says what a person's vote did, after the page that gave it has sent them on. What
// it says comes from the approval alone: an address can claim anything.
func (w *Web) voted(ctx context.Context, v reader, code string, d approval.Decision) string {
	if code == "" {
		return ""
	}
	a, err := w.find(ctx, v, code)
	if err != nil {
		return ""
	}
	if d == askedAgain && a.Final() {
		return a.Code + ": " + core.AskAgainText(a)
	}
	given := a.Votes
	if round, open := people.OpenRound(a, v.people, v.now.UnixMilli()); open {
		given = append(given, round.Votes...)
	}
	if a.RoundDenied != nil {
		given = append(given, *a.RoundDenied)
	}
	for _, x := range given {
		if x.Voter != nil && x.Voter.Person == v.session.Person && x.Decision == d {
			return a.Code + ": " + card.VotedText(a, d, v.people, time.Now().UnixMilli())
		}
	}
	if a.Status == approval.Withdrawn && d == approval.Deny {
		return a.Code + ": " + card.VotedText(a, d, v.people, time.Now().UnixMilli())
	}
	return ""
}

// refuse answers with a page that says why there is nothing else to see.
func (w *Web) refuse(out http.ResponseWriter, s signin.Session, err error) {
	text, status, title := "The desk could not do this now; try again.", statusOf(err), "Not now"
	if no, known := errors.AsType[*approval.Error](err); known {
		text = no.Message
	} else {
		w.cfg.Log.Error("a page could not be made", "reason", err)
	}
	if status == http.StatusNotFound {
		title = "Nothing here"
	}
	w.show(out, status, sentencePage(w.head(s, title), text, "To the inbox"))
}
