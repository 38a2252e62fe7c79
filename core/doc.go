// Package core is the approval desk's domain: what an approval is, who may
// decide it, and what every step leaves behind.
//
// A program asks for one call (toolName and params). A [Policy] judges it. If a
// person must see it, the call becomes an [Approval], pending until it is
// approved, denied, expired or withdrawn. People vote, a tally of the votes
// settles it, the asker claims the very bytes that were approved and reports
// how it went.
//
// Every step is a pure function: old approval, input and time give a [Change] or an
// [Error]. The store ([Changes]) commits a Change whole or not at all, and there is no
// other way to write. The [Gate] is the one door to these steps: HTTP, chats, the command
// line and timers all call it, and say who is calling.
//
// Its files call downward and close no circle: at the ground the data (store.go, change.go, rules.go,
// ballot.go), the Gate itself, and what is refused; then the steps, a file each (vote.go, claim.go,
// retry.go); on top the Gate's methods that load, step and commit (voting.go, claiming.go, retrying.go).
//
// The package knows no chat platform, no database and no network. What it needs
// from them it declares as small interfaces.
package core
