package signin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// Gone is what the store has of people that the configuration does not name.
type Gone struct {
	Sessions   []Session
	Push       []PushSubscription // with ID and Person alone
	Passkeys   []Passkey          // that are not suspended yet
	Links      []LoginLink        // with Hash and Person alone
	Ceremonies []string           // ids

	// Waits reports that nothing was written, because not all instances have this configuration yet.
	Waits bool
}

// GoneStore ends the sign-ins of people that the configuration does not name any more.
type GoneStore interface {
	// EndGone ends sessions, login links, ceremonies and push subscriptions of all people
	// except those known, suspends their passkeys, appends the entries that events makes of it
	// to the log, all in one transaction, and returns what it ended. If not every instance has
	// the policy with that hash, it does not write and sets Waits. If there is no such person,
	// it does not write either.
	EndGone(ctx context.Context, known []string, policy string, events func(Gone) []approval.Event) (Gone, error)
	// SuspendedPasskeys gives a person's suspended passkeys, or all if person is empty, oldest first.
	SuspendedPasskeys(ctx context.Context, person string) ([]Passkey, error)
}

// EndGone ends for good the sessions and links of people that the rules in force do not name:
// a person of the same name who is configured later does not get them back. Their passkeys
// are suspended: they can neither sign in nor sign a yes. With several instances this waits
// until all have these rules; until then the result has Waits set.
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

// byConfiguration is the actor if a session ended because the configuration does not name its person any more.
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

// Lines lists what each person had, a line each, in the order of their names.
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
