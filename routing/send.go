package routing

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fault"
)

// send makes the call to the platform that the delivery needs next. If the platform
// does not accept it, send goes on to a message that shows less.
func (d *Dispatcher) send(ctx context.Context, m approval.Delivery, drawing card.Drawing, done *approval.Delivered) error {
	switch {
	case drawing.Card == nil:
		return d.postText(ctx, m, drawing, done)
	case m.MessageID != "":
		return d.editCard(ctx, m, drawing, done)
	case drawing.File != nil && !m.Attached && !m.DenyOnly:
		return d.attach(ctx, m, drawing, done)
	}
	return d.postCard(ctx, m, drawing, done)
}

func (d *Dispatcher) postText(ctx context.Context, m approval.Delivery, drawing card.Drawing, done *approval.Delivered) error {
	what := "outcome-told"
	if m.Kind == approval.ReminderDelivery {
		what = "reminder-sent"
	}
	fault.Point("before-" + what)
	posted, err := d.channel.Post(ctx, m.Target, core.Posting{
		Text: drawing.Text, Times: drawing.Times, Mention: drawing.Mention, ReplyTo: m.ReplyTo, ForUser: m.ForUser,
		SinceMs: m.CreatedMs, Nonce: nonce(m),
	})
	fault.Point("after-" + what)
	if err == nil {
		done.Shown = drawing.Shown
		stands(done, posted, drawing.Done)
	}
	return err
}

// The delivery is marked as present in the chat.
func stands(done *approval.Delivered, posted core.Posted, settled bool) {
	if posted.MessageID != "" {
		done.MessageID = posted.MessageID
	}
	switch {
	case posted.Earlier: // its id was lost in a crash, and it has ended since: the present message is drawn anew
		done.DueMs = time.Now().UnixMilli()
	case settled:
		done.State = approval.Settled
	default:
		done.State = approval.Sent
	}
}

// attach puts the whole call into the chat before its card: as a file, and if that
// fails repeatedly, as messages. If those fail too, the card goes out without them,
// and may only deny. Only successful tries are recorded, so if the platform accepted
// neither, the file is tried again the next time.
func (d *Dispatcher) attach(ctx context.Context, m approval.Delivery, drawing card.Drawing, done *approval.Delivered) error {
	file := *drawing.File
	file.Silent = m.Silent
	fault.Point("before-file-sent")
	err := d.channel.Attach(ctx, m.Target, file)
	fault.Point("after-file-sent")
	last := m.Attempts >= triesAsIs-1
	if noFiles(err) || passing(err) && last {
		fault.Point("before-parts-sent")
		err = d.channel.AttachParts(ctx, m.Target, file)
		fault.Point("after-parts-sent")
	}
	switch {
	case err == nil:
		done.Attached, done.DueMs = true, time.Now().UnixMilli()
		return nil
	case passing(err) && !last:
		return uploadError{err}
	case !passing(err) && !noFiles(err):
		return err
	}
	m.DenyOnly = true
	without, drawErr := d.drawer.Draw(ctx, m)
	if drawErr != nil || without.Card == nil { // it has ended meanwhile
		return uploadError{err}
	}
	return d.postCard(ctx, m, without, done)
}

func (d *Dispatcher) postCard(ctx context.Context, m approval.Delivery, drawing card.Drawing, done *approval.Delivered) error {
	card := drawing.Card
	posted, err := d.post(ctx, m, card)
	if showsLess(m, drawing, err) {
		card = drawing.Bare
		posted, err = d.post(ctx, m, card)
	}
	if err == nil {
		done.Shown = drawing.Shown && len(card.Offers) > 0 && !posted.DenyOnly
		stands(done, posted, drawing.Done)
	}
	if err == nil || refusedAsIs(err) {
		done.DenyOnly = m.DenyOnly || card == drawing.Bare
	}
	return err
}

func (d *Dispatcher) post(ctx context.Context, m approval.Delivery, card *card.Card) (core.Posted, error) {
	before, after := "before-card-sent", "after-card-sent"
	if m.Kind == approval.DigestDelivery {
		before, after = "before-digest-sent", "after-digest-sent"
	}
	fault.Point(before)
	posted, err := d.channel.Post(ctx, m.Target, core.Posting{Card: card, Silent: m.Silent, Nonce: nonce(m)})
	fault.Point(after)
	return posted, err
}

// editCard draws a card anew. One that may allow is not made to show less than it does.
func (d *Dispatcher) editCard(ctx context.Context, m approval.Delivery, drawing card.Drawing, done *approval.Delivered) error {
	fault.Point("before-edit-sent")
	err := d.channel.Edit(ctx, m.Target, m.MessageID, *drawing.Card)
	fault.Point("after-edit-sent")
	if mayShowLess := drawing.Done || !m.Shown; mayShowLess && showsLess(m, drawing, err) {
		err = d.channel.Edit(ctx, m.Target, m.MessageID, *drawing.Bare)
	}
	if err == nil {
		stands(done, core.Posted{}, drawing.Done)
	}
	return err
}

// showsLess reports whether the bare card is to be tried after this error of the whole
// one: at once if the platform refused it, later if the platform fails with it. A post
// that got no answer may have arrived, so the bare card is only tried if the call
// would otherwise run because no person could be asked.
func showsLess(m approval.Delivery, drawing card.Drawing, err error) bool {
	switch {
	case refusedAsIs(err):
		return true
	case errors.Is(err, core.ErrPlatform) && m.Attempts >= triesAsIs-1:
		return true
	}
	return passing(err) && drawing.FailsOpen && m.Attempts > 0
}

// note remembers whether a chat's last post or edit failed, and gives whether the one
// before it had.
func (d *Dispatcher) note(m approval.Delivery, err error) (failedBefore bool) {
	chat := m.Target.Chat()
	d.mu.Lock()
	defer d.mu.Unlock()
	failedBefore = d.failing[chat]
	switch outcome(err) {
	case approval.Answered:
		delete(d.failing, chat)
	case approval.NoAnswer:
		d.failing[chat] = true
	}
	return failedBefore
}

// refused turns a platform's refusal into the next try, or into the end of them.
// It gives the rest that the chat needs.
func (d *Dispatcher) refused(m approval.Delivery, done *approval.Delivered, final, failedBefore bool, err error) time.Duration {
	var refusal *core.DeliveryError
	if !errors.As(err, &refusal) {
		return d.retry(m, done, failedBefore, err)
	}
	done.Error, done.Attempts = refusal.Message, m.Attempts
	now, forGood := time.Now(), refusal.Gone || refusal.Refused
	openCard := m.Kind == approval.CardDelivery && m.MessageID != "" && !final
	switch {
	case refusal.RetryAfter > 0:
		done.DueMs = now.Add(refusal.RetryAfter).UnixMilli()
		return refusal.RetryAfter
	case refusal.Moved != nil:
		d.table().Moved(m.Target, *refusal.Moved)
		done.MovedTo, done.DueMs = refusal.Moved, now.UnixMilli()
	case forGood && openCard:
		// The chat does not accept edits now; the next redraw tries again, so
		// that the end is shown if the bot is let back in.
		done.State, done.DueMs = approval.Sent, 0
	default:
		done.State = approval.Failed
		d.log.Warn("could not deliver a message; it was given up", "approval", m.Key, "target", m.Target.String(), "reason",
			refusal.Message)
	}
	return 0
}

// retry sets the next try of a message that may get through later. The chat rests too
// if no answer came, or if the platform fails with every message of it: a single
// message that fails beside others does not delay them.
func (d *Dispatcher) retry(m approval.Delivery, done *approval.Delivered, failedBefore bool, err error) time.Duration {
	done.Attempts, done.Error = m.Attempts+1, "the platform could not be reached"
	wait := min(firstWait<<min(m.Attempts, 10), longestWait)
	rest := min(wait, chatRest)
	var upload uploadError
	switch {
	case errors.As(err, &upload):
		rest, wait = 0, min(wait, d.table().patience()/4)
		done.Error = "the platform does not take the file"
	case errors.Is(err, core.ErrPlatform):
		done.Error = "the platform answers that it is in trouble"
		if first := m.Attempts == 0; first || !failedBefore {
			rest = 0
		}
	}
	said := "could not send a message; trying again later"
	if done.Attempts >= maxAttempts {
		said = "could not send a message at the last attempt; it was given up"
	}
	d.log.Warn(said, "approval", m.Key, "target", m.Target.String(), "reason", err, "attempt", done.Attempts)
	if done.Attempts >= maxAttempts {
		done.State, done.Error = approval.Failed, "given up: "+done.Error
		return rest
	}
	done.DueMs = time.Now().Add(wait).UnixMilli()
	return rest
}

// nonce names a message for platforms that drop repeats: 25 characters of the
// delivery's id. A digest may be posted anew, which is no repeat.
func nonce(m approval.Delivery) string {
	id := strings.ReplaceAll(m.ID, "-", "")
	if m.Kind == approval.DigestDelivery {
		id = strconv.FormatInt(m.Revision, 36) + "-" + id
	}
	return id[:min(len(id), nonceLength)]
}

const nonceLength = 25
