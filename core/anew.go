package core

import (
	"context"
	"errors"

	"approvalbot/internal/approval"
)

// A step reads what it depends on before its transaction begins: the rules in force, who is away, what
// policy says today of the call, what a passkey signed. The transaction fails if one of these was
// replaced meanwhile. Then it commits no change, and the step is tried again with the new values.

// anewTries is how often a step is tried. It is tried again each time a person has left or come
// back, the rules were reloaded, or a signature was used in between.
const anewTries = 5

// anew runs a step until what it depended on still holds at its commit. Absences are learned here; all else
// the step reads by itself whenever it is tried. CodeUnavailable if it never holds, or if absences cannot be
// read.
func anew[T any](ctx context.Context, g *Gate, key string, try func() (T, error)) (T, error) {
	var none T
	for range anewTries {
		out, err := try()
		switch {
		case errors.Is(err, errReplaced), errors.Is(err, errOtherRules), errors.Is(err, ErrSpent):
		case errors.Is(err, ErrAbsences):
			if err := g.Absences().Learn(ctx); err != nil {
				g.log.Error("could not read absences, so a vote or claim was refused; it may be tried again",
					"approval", key, "reason", err)
				return none, approval.Refuse(approval.CodeUnavailable, "The desk cannot read who is away now; try "+
					"again in a moment.")
			}
		default:
			return out, err
		}
	}
	return none, rulesChanged()
}
