package verifier

import (
	"cmp"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/platform"
)

// plan is the verification that applies to one agent. The zero plan verifies no
// calls.
type plan struct {
	scopes []scope // a tool is verified if one of them covers it
	open   bool    // failMode is allow
	asked  []*endpoint
	people *approval.VerifierPeople
}

func (p *plan) wants(tool string) bool {
	return slices.ContainsFunc(p.scopes, func(s scope) bool { return s.covers(tool) })
}

// planFor merges an agent's override into the settings of all agents, so that
// it can only tighten. Both have been checked.
func planFor(all, own Settings, name string) *plan {
	if !all.Enabled && !own.Enabled {
		return &plan{}
	}
	p := &plan{open: all.FailMode == "allow" && own.FailMode != "deny"}
	if all.Enabled || !own.Scope.isSet() {
		p.scopes = append(p.scopes, all.Scope.compile())
	}
	if own.Scope.isSet() {
		p.scopes = append(p.scopes, own.Scope.compile())
	}
	p.asked = endpoints(all, own, name, p.open)
	if p.people = peopleFor(all, own); p.people != nil {
		p.people.FailOpen = p.open
	}
	return p
}

// endpoints lists the webhooks that must all allow: that of all agents, and the
// agent's own beside it, never in its place.
func endpoints(all, own Settings, name string, open bool) (list []*endpoint) {
	if all.Webhook.URL != "" && (all.Enabled || own.Webhook.URL == "") {
		w := all.Webhook
		if own.Webhook.URL == "" {
			w.Timeout = tighterTimeout(w.Timeout, own.Webhook.Timeout, open)
		}
		list = append(list, newEndpoint(w, "tools.verifier"))
	}
	if own.Webhook.URL != "" {
		list = append(list, newEndpoint(own.Webhook, name))
	}
	return list
}

// tighterTimeout picks an agent's timeout only if it is stricter: a shorter one
// if silence denies, a longer one if silence allows.
func tighterTimeout(all, own int, open bool) int {
	all = cmp.Or(all, defaultTimeout)
	switch {
	case own == 0:
		return all
	case open:
		return max(all, own)
	}
	return min(all, own)
}

// peopleFor gives the people whose yes calls of one agent need; nil if they need
// none.
func peopleFor(all, own Settings) *approval.VerifierPeople {
	if !all.Enabled && !own.Enabled {
		return nil
	}
	return people(all.Chat, own.Chat)
}

// people merges the blocks of chats.
func people(all, own Chat) *approval.VerifierPeople {
	switch {
	case !all.Enabled && !own.Enabled:
		return nil
	case !all.Enabled:
		all = own
	case own.Enabled:
		if len(own.AllowedUserIDs) > 0 {
			all.AllowedUserIDs = own.AllowedUserIDs
		}
		all.Timeout = tighterTap(all.Timeout, own.Timeout)
	}
	timeout := time.Duration(cmp.Or(all.Timeout, defaultTap)) * time.Second
	out := &approval.VerifierPeople{Place: all.place(), TimeoutMs: timeout.Milliseconds()}
	for _, id := range all.AllowedUserIDs {
		out.Accounts = append(out.Accounts, platform.Verifier+":"+id)
	}
	return out
}

func tighterTap(all, own int) int {
	return min(cmp.Or(all, defaultTap), cmp.Or(own, all, defaultTap))
}
