// Package people decides which person an account belongs to, what they may decide, and whether the votes of an
// approval are enough. It is pure: a [Directory] is made of a configuration's people, their accounts, roles and
// duty, and At gives it for a moment.
//
// Three ideas:
//
//   - A person is one vote, with any of their accounts. [Directory.Identify] finds the person behind an account, a
//     token or a signed-in browser.
//   - Authority is checked when votes are counted. [WeightNow] says which needs a vote counts toward now: it loses
//     its weight if its giver has lost the role, or has become an asker. The zero [Weight] counts toward no need.
//   - A quorum is a [approval.Rule] with needs. [Count] gives a [Tally]: the status, the filled seats, and what is
//     missing, in words that cards show.
//
// Take a rule with two approvals, one of them with role ops, and a yes of alice, who has that role. The tally is
// pending: Seats is 1, Need is 2. Bob's yes approves it. If bob is away and alice is his delegate, her yes may be
// counted in his place, but the two fill one seat: by being away, no person adds to a quorum.
//
// QuorumImpossible tells beforehand if a rule could never be met (eligible.go), MayNotDecide whether the voter
// asked (selfapproval.go), Covers whether a grant still allows a call (grant.go).
package people
