package web

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// Entries are the audit log, oldest first.
type Entries interface {
	// Log gives at most limit entries that come after number after (0: from the start).
	Log(ctx context.Context, after int64, limit int) ([]approval.Entry, error)
	// Head gives the number and hash of the newest entry.
	Head(ctx context.Context) (seq int64, hash string, err error)
}

const (
	linePage = 200
	lineMost = 4000  // entries that are looked through for what concerns one approval
	skewMs   = 10000 // by which the clocks of instances may differ
)

// timeline is what the log has of an approval. Of one that took very long, in a busy desk,
// it is the beginning.
func timeline(ctx context.Context, log Entries, v reader, a approval.Approval) (out []moment, err error) {
	if log == nil {
		return nil, nil
	}
	at, head, err := firstSince(ctx, log, a.CreatedAtMs-skewMs)
	for read := 0; err == nil && at < head && read < lineMost; read += linePage {
		var page []approval.Entry
		if page, err = log.Log(ctx, at, linePage); len(page) == 0 {
			break
		}
		for _, e := range page {
			if e.Key == a.Key {
				out = append(out, v.momentOf(e.Event))
			}
		}
		at = page[len(page)-1].Seq
	}
	return out, err
}

// firstSince gives the number below the first entry since that time, and the newest.
func firstSince(ctx context.Context, log Entries, ms int64) (below, head int64, err error) {
	head, _, err = log.Head(ctx)
	lo, hi := int64(0), head // everything up to lo is older; what follows hi is not
	for err == nil && lo < hi {
		mid := (lo + hi) / 2
		var one []approval.Entry
		one, err = log.Log(ctx, mid, 1)
		if len(one) == 1 && one[0].AtMs < ms {
			lo = max(mid+1, one[0].Seq)
		} else {
			hi = mid
		}
	}
	return lo, head, err
}

// moment is one line of what happened when.
type moment struct {
	At       stamp
	What, By string
	Code     string // of the request that it is about; empty if about no request
}

// momentOf says an entry of the log in words.
func (v reader) momentOf(e approval.Event) moment {
	var facts struct {
		Vote      *approval.Vote `json:"vote"`
		By        string         `json:"by"`
		Why       string         `json:"why"`
		DecidedBy []string       `json:"decidedBy"`
		Decision  string         `json:"decision"`
		Asked     []string       `json:"asked"`
		Code      string         `json:"code"`
	}
	_ = json.Unmarshal(e.Data, &facts)
	m := moment{At: v.clock(e.AtMs), Code: display.Safe(facts.Code), What: cmp.Or(eventTexts()[e.Type], string(e.Type))}
	switch {
	case facts.Vote != nil && facts.Vote.Voter != nil:
		m.By = v.who(facts.Vote.Voter.Name()) + ", by " + facts.Vote.Voter.Channel
		m.What = "voted to " + cmp.Or(voteTexts()[facts.Vote.Decision], string(facts.Vote.Decision), string(facts.Vote.Verdict))
	case facts.By != "":
		m.By = v.who(facts.By)
	case e.Type == approval.EventResolved:
		m.By = v.who(facts.DecidedBy...)
		m.What = cmp.Or(decidedTexts()[approval.Decision(facts.Decision)], m.What)
	case len(facts.Asked) > 0:
		m.By = strings.Join(facts.Asked, ", ")
	}
	if facts.Why != "" {
		m.What += ": " + facts.Why
	}
	m.What, m.By = display.Safe(m.What), display.Safe(m.By)
	return m
}

var voteTexts = sync.OnceValue(func() map[approval.Decision]string {
	return map[approval.Decision]string{
		approval.AllowOnce: "allow once", approval.AllowSession: "allow for the session", approval.AllowAlways: "allow always",
		approval.Deny: "deny", approval.Retry: "run it once more",
	}
})

var decidedTexts = sync.OnceValue(func() map[approval.Decision]string {
	return map[approval.Decision]string{
		approval.AllowOnce: "allowed once", approval.AllowSession: "allowed for the session", approval.AllowAlways: "allowed always",
		approval.Deny: "denied", approval.Retry: "allowed once more",
	}
})

var eventTexts = sync.OnceValue(func() map[approval.EventType]string {
	return map[approval.EventType]string{
		approval.EventRequested: "asked", approval.EventVote: "voted", approval.EventResolved: "decided", approval.EventExpired: "expired",
		approval.EventWithdrawn: "withdrawn", approval.EventRevoked: "taken back", approval.EventResult: "result reported",
		approval.EventReminded: "reminded", approval.EventEscalated: "escalated", approval.EventClaimed: "claimed by the agent",
		approval.EventJoined: "an identical call joined", approval.EventReason: "reason added", approval.EventRefused: "attempt refused",
		approval.EventUnreached: "no approver could be reached", approval.EventFallback: "further chats were asked",
		approval.EventGranted: "grant or cool-down made", approval.EventRejudged: "judged again, since the rules changed",
		approval.EventRetry: "may run once more", approval.EventFailOpen: "a key that fails open was used",
		approval.EventDrilled: "the drill is over", approval.EventUngranted: "its grant or cool-down was ended",
	}
})
