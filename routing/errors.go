package routing

import (
	"errors"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// uploadError says that a file could not be uploaded: the chat itself may be fine.
type uploadError struct{ error }

func (e uploadError) Unwrap() error { return e.error }

// passing reports whether the error may go away by itself, without the platform having
// said when.
func passing(err error) bool {
	var refusal *core.DeliveryError
	return err != nil && !errors.As(err, &refusal)
}

func noFiles(err error) bool {
	var refusal *core.DeliveryError
	return errors.As(err, &refusal) && refusal.NoFiles
}

func refusedAsIs(err error) bool {
	var refusal *core.DeliveryError
	return errors.As(err, &refusal) && refusal.Refused
}

// outcome is what a try showed about the chat.
func outcome(err error) approval.SendOutcome {
	var upload uploadError
	switch {
	case errors.As(err, &upload):
		return approval.NotSent
	case passing(err):
		return approval.NoAnswer
	}
	return approval.Answered
}
