package core

import (
	"approvalbot/internal/approval"
)

// Pages are what people who are signed in do on the desk's pages.
type Pages struct{ gate *Gate }

// Pages gives what is for pages.
func (g *Gate) Pages() Pages { return Pages{g} }

// WebUser is a person who is signed in to the desk's pages, in one of their sessions. It gives
// no right of its own: what the person may do is looked up at every step.
type WebUser struct {
	Person  string
	Session string // its id
}

// Voter is who votes there.
func (u WebUser) Voter() approval.Voter {
	return approval.Voter{Channel: approval.WebChannel, UserID: u.Person}
}
