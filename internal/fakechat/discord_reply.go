package fakechat

import (
	"context"
	"errors"
	"slices"
)

// ErrInteractionFailed is what a person sees as "This interaction failed" or "The
// application did not respond": no acknowledgement came in time.
var ErrInteractionFailed = errors.New("fakechat: the interaction was not acknowledged in time")

// Types of the first response (Discord, "Receiving and Responding to
// Interactions": interaction callback type).
const (
	CallbackPong            = 1
	CallbackMessage         = 4
	CallbackDeferredMessage = 5
	CallbackDeferredUpdate  = 6
	CallbackUpdate          = 7
	CallbackAutocomplete    = 8
	CallbackModal           = 9
	CallbackActivity        = 12
)

// DiscordResponse is the first response to an interaction.
type DiscordResponse struct {
	// Type is the callback type, such as [CallbackMessage].
	Type int
	// Content, Flags and Ephemeral are those of the message.
	Content   string
	Flags     int
	Ephemeral bool
	// Message as it was then, of types 4, 5 and 7.
	Message DiscordMessage
	// Modal of type 9.
	Modal *DiscordModal
	// Choices are the names of type 8.
	Choices []string
}

// DiscordModal is a modal as the person sees it.
type DiscordModal struct {
	CustomID, Title string
	// Inputs are the fields, in order.
	Inputs []DiscordInput

	components []*dcComponent
}

// DiscordInput is a field of a modal.
type DiscordInput struct {
	CustomID, Label, Placeholder, Value string
	Required                            bool
	MinLength, MaxLength                int
}

// Response waits for the first response. It returns [ErrInteractionFailed] if
// the window closed before, by the fake's time.
func (i *DiscordInteraction) Response(ctx context.Context) (DiscordResponse, error) {
	if i.Err != nil {
		return DiscordResponse{}, i.Err
	}
	err := i.dc.wait(ctx, i.created.Add(i.dc.opts.AckWindow), func() bool { return i.acked })
	if errors.Is(err, errDeadline) {
		err = ErrInteractionFailed
	}
	i.dc.mu.Lock()
	defer i.dc.mu.Unlock()
	return i.response, err
}

// Acked says that there was a first response.
func (i *DiscordInteraction) Acked() bool {
	i.dc.mu.Lock()
	defer i.dc.mu.Unlock()
	return i.acked
}

// Failed says that the person sees "This interaction failed".
func (i *DiscordInteraction) Failed() bool {
	i.dc.mu.Lock()
	defer i.dc.mu.Unlock()
	return i.Err == nil && !i.acked && i.late()
}

func (i *DiscordInteraction) late() bool {
	return !i.dc.now().Before(i.created.Add(i.dc.opts.AckWindow))
}

func (i *DiscordInteraction) expired() bool {
	return !i.dc.now().Before(i.created.Add(i.dc.opts.TokenLife))
}

// Original is the message that @original means, as it is now: the response, or the
// component's message after types 6 and 7.
func (i *DiscordInteraction) Original() (DiscordMessage, bool) {
	i.dc.mu.Lock()
	defer i.dc.mu.Unlock()
	if i.original == nil {
		return DiscordMessage{}, false
	}
	return i.original.public(), true
}

// Followups are the follow-up messages as they are now, without the one that
// filled a deferred response.
func (i *DiscordInteraction) Followups() []DiscordMessage {
	i.dc.mu.Lock()
	defer i.dc.mu.Unlock()
	return publicAll(i.followups)
}

// Replies are all messages that the bot sent in answer to the interaction and that are
// there now, as the person sees them, without deleted ones and those that still say
// "thinking…".
func (i *DiscordInteraction) Replies() []DiscordMessage {
	i.dc.mu.Lock()
	defer i.dc.mu.Unlock()
	return slices.DeleteFunc(publicAll(i.shown), func(m DiscordMessage) bool { return m.Deleted || m.Loading })
}

func publicAll(messages []*dcMessage) []DiscordMessage {
	var list []DiscordMessage
	for _, m := range messages {
		list = append(list, m.public())
	}
	return list
}

// Reply waits for the first message that the person gets in answer.
func (i *DiscordInteraction) Reply(ctx context.Context) (DiscordMessage, error) {
	return i.await(ctx, func(DiscordMessage) bool { return true })
}

// Ephemeral waits for the first message in answer that only the person sees.
func (i *DiscordInteraction) Ephemeral(ctx context.Context) (DiscordMessage, error) {
	return i.await(ctx, func(m DiscordMessage) bool { return m.Ephemeral })
}

// EphemeralText waits for the first message in answer that only the person sees
// and returns its text.
func (i *DiscordInteraction) EphemeralText(ctx context.Context) (string, error) {
	m, err := i.Ephemeral(ctx)
	return m.Text(), err
}

func (i *DiscordInteraction) await(ctx context.Context, pred func(DiscordMessage) bool) (DiscordMessage, error) {
	if i.Err != nil {
		return DiscordMessage{}, i.Err
	}
	var found DiscordMessage
	failed := false
	err := i.dc.WaitFor(ctx, func() bool {
		replies := i.Replies()
		at := slices.IndexFunc(replies, pred)
		if at >= 0 {
			found = replies[at]
		}
		failed = at < 0 && i.Failed()
		return at >= 0 || failed
	})
	if err == nil && failed {
		err = ErrInteractionFailed
	}
	return found, err
}
