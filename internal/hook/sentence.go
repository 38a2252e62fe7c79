package hook

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/internal/platform"
)

// gone is a sentence that is hardly ever read, since the runtime has left.
const gone = "interrupted before a person decided; the call was not allowed"

// Failed says that there is no decision, and why: the deny of every failure.
func Failed(err error) string {
	return "approvalbot gave no decision, so the call was not allowed: " + cause(err)
}

// cause says an error without a value of the call and without a secret.
func cause(err error) string {
	var refused *api.Problem
	var sent *url.Error
	switch {
	case errors.As(err, &refused):
	case errors.As(err, &sent): // its text has the whole query, and with it the claim
		return "the approval desk at " + hostOf(sent.URL) + " cannot be reached: " + sent.Err.Error()
	default:
		return err.Error()
	}
	text := refused.Error()
	for _, f := range refused.Fields {
		if words := f.Field + " " + f.Problem; !strings.Contains(refused.Detail, words) {
			text += "; " + words
		}
	}
	return text
}

// hostOf gives the host of an address, without the rest.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "its address"
	}
	return u.Host
}

// decidedBy says how an approval ended: "denied by alice in Telegram: use staging".
func decidedBy(a api.Approval) string {
	var text string
	switch a.Status {
	case api.Approved:
		text = "allowed"
	case api.Denied:
		text = "denied"
	case api.Expired:
		return "approval " + a.Code + " expired: no approver decided in time"
	case api.Withdrawn:
		text = "withdrawn"
	default:
		return Failed(errors.New("its answer has an unknown status"))
	}
	var who []string
	cooling := slices.Contains(a.ReasonCodes, "recently-denied") // the reason names the person who denied it
	for _, name := range a.DecidedBy {
		if cooling && strings.HasPrefix(name, "grant:") {
			continue
		}
		who = append(who, person(name, a.Votes))
	}
	if len(who) > 0 {
		text += " by " + strings.Join(who, " and ")
	}
	switch {
	case a.Reason != "":
		text += ": " + a.Reason
	case a.Status == api.Denied && len(a.Why) > 0:
		text += ": " + strings.Join(a.Why, " ")
	}
	return text
}

// person names the person who decided, and the channel: person:alice is alice in
// Telegram.
func person(name string, votes []api.Vote) string {
	kind, rest, _ := strings.Cut(name, ":")
	if kind == "grant" {
		return "a standing permission"
	}
	if kind != "person" {
		return name
	}
	i := slices.IndexFunc(votes, func(v api.Vote) bool { return v.Voter != nil && v.Voter.Person == rest })
	if i < 0 {
		return rest
	}
	if on := platform.ByName(votes[i].Voter.Channel); on != nil {
		return rest + " in " + on.Title
	}
	return rest
}

// Until is the time by which a hook that begins now must have answered: before the
// runtime's time limit. configured is the limit in the runtime's configuration; 0 if
// not set.
func (l Limit) Until(now time.Time, configured time.Duration) time.Time {
	limit := l.Default
	if configured > 0 {
		limit = configured
	}
	if l.Hard > 0 {
		limit = min(limit, l.Hard)
	}
	margin := 5 * time.Second
	switch {
	case limit < 10*time.Second:
		margin = limit / 2
	case limit > time.Minute:
		margin = 10 * time.Second
	}
	return now.Add(limit - margin)
}
