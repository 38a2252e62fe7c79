package card

import (
	"fmt"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// maxEntryLine is how many characters of a card's first line a digest shows.
const maxEntryLine = 70

// Digest is what a digest shows. Every text is safe to show and has no line breaks.
type Digest struct {
	Code    string // with Version it identifies the list for a person who denies all of it
	Version int64
	Title   string
	Entries []DigestEntry // riskiest first, then oldest
	More    int           // how many wait beside those
}

// DigestEntry is a line of a digest.
type DigestEntry struct {
	Code string
	Risk approval.RiskClass
	Text string // the beginning of the card's first line
}

// DigestList is what a digest lists.
type DigestList struct {
	Version int64
	Items   []approval.Approval // pending, without deliveries; riskiest first, then oldest
	Total   int                 // how many wait, with those that there is no room for
}

// DrawDigest is [Gate.drawDigest] for the digest that began with this approval.
func DrawDigest(a approval.Approval, d approval.Delivery, list DigestList) Drawing {
	if list.Total == 0 && d.MessageID == "" {
		return Drawing{Skip: "all of it ended before it could be shown"}
	}
	digest := Digest{
		Code: a.Code, Version: list.Version, Title: digestTitle(a, d, list.Total), More: list.Total - len(list.Items),
	}
	bare := digest
	for _, x := range list.Items {
		e := DigestEntry{Code: x.Code, Risk: x.Assessment.RiskClass, Text: entryLine(x)}
		digest.Entries = append(digest.Entries, e)
		e.Text = "a call that cannot be shown in this chat"
		bare.Entries = append(bare.Entries, e)
	}
	card := func(x *Digest) *Card {
		return &Card{Code: a.Code, Status: approval.Pending, Headline: own(x.Title), Digest: x}
	}
	return Drawing{Card: card(&digest), Bare: card(&bare), Done: list.Total == 0}
}

// digestTitle says what a digest is.
func digestTitle(a approval.Approval, d approval.Delivery, waiting int) string {
	requests, wait := "requests", "wait"
	if waiting == 1 {
		requests, wait = "request", "waits"
	}
	switch {
	case waiting == 0:
		return "No request of this list is waiting any more."
	case d.ForUser != "":
		return fmt.Sprintf("%d %s waited for the end of your quiet hours", waiting, requests)
	}
	owner := Clipped(display.Safe(a.Owner), maxPlace)
	return fmt.Sprintf("%s asks much at once: %d more %s %s", owner, waiting, requests, wait)
}

// entryLine is how a card begins, for a list.
func entryLine(a approval.Approval) string { return Clipped(Headline(a), maxEntryLine) }
