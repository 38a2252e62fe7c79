package signin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// Gone is what the store has of people whom the configuration does not name.
type Gone struct {
	Sessions   []Session
	Push       []PushSubscription // with ID and Person alone
	Passkeys   []Passkey          // that are not suspended yet
	Links      []LoginLink        // with Hash and Person alone
	Ceremonies []string           // ids

	// Waits: nothing was written, since the instances do not all have this configuration.
	Waits bool
}

// GoneStore ends what people had whom the configuration does not name any more.
type GoneStore interface {
	// EndGone ends sessions, login links, ceremonies and push subscriptions of everybody but
	// the people known, suspends their passkeys and appends what events makes of that to the
	// log, in one transaction, and gives it. If the policy of that hash is not the one of every
	// instance, it writes nothing and the result Waits. Nothing is written if there is nothing
	// to end.
	EndGone(ctx context.Context, known []string, policy string, events func(Gone) []approval.Event) (Gone, error)
	// SuspendedPasskeys gives a person's, or everybody's if person is empty, oldest first.
	SuspendedPasskeys(ctx context.Context, person string) ([]Passkey, error)
}

// EndGone ends for good what people had whom the rules in force do not name: a person of the
// same name who is configured later has none of it. Their passkeys are suspended: they sign
// nobody in and sign no yes. With several instances nothing ends before all have these rules;
// the result Waits until then.
func (d *Door) EndGone(ctx context.Context) (Gone, error) {
	rules, now := d.desk.Rules(), nowMs()
	var known []string
	for _, p := range rules.People.Everybody() {
		known = append(known, p.Name)
	}
	gone, err := d.store.EndGone(ctx, known, rules.Policy.Hash(), func(x Gone) []approval.Event { return x.events(now) })
	if err == nil && len(gone.Sessions) > 0 {
		d.sessions.turn()
	}
	return gone, err
}

// byConfiguration ended what belonged to a person whom the configuration names no more.
const byConfiguration = "configuration"

func (x Gone) events(now int64) (out []approval.Event) {
	for _, s := range x.Sessions {
		out = append(out, s.signedOut(byConfiguration, now))
	}
	for _, p := range x.Push {
		out = append(out, p.ended(byConfiguration, now))
	}
	for _, p := range x.Passkeys {
		out = append(out, event(approval.EventPasskeySuspended, now,
			map[string]any{"by": byConfiguration, "person": p.Person, "passkey": p}))
	}
	return out
}

// Lines says what each person had, a line each, in the order of their names.
func (x Gone) Lines() (lines []string) {
	has := map[string]*[4]int{}
	add := func(person string, kind int) {
		if has[person] == nil {
			has[person] = &[4]int{}
		}
		has[person][kind]++
	}
	for _, s := range x.Sessions {
		add(s.Person, 0)
	}
	for _, l := range x.Links {
		add(l.Person, 1)
	}
	for _, p := range x.Push {
		add(p.Person, 2)
	}
	for _, p := range x.Passkeys {
		add(p.Person, 3)
	}
	for person, n := range has {
		var parts []string
		for kind, what := range []string{"session", "login link", "push subscription", "passkey"} {
			if n[kind] > 0 {
				parts = append(parts, amount(n[kind], what))
			}
		}
		lines = append(lines, person+": "+strings.Join(parts, ", "))
	}
	slices.Sort(lines)
	return lines
}

func amount(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
