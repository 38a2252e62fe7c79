// Package people says who somebody is, what they may decide, and whether the votes of an approval are enough. It is
// pure: a [Directory] is made of a configuration's people, their accounts, roles and duty, and At gives it for a
// moment.
//
// Three ideas:
//
//   - A person is one vote, whatever they tap with. [Directory.Identify] finds the person behind an account, a token or
//     a signed-in browser.
//   - Authority is asked when votes are counted. [WeightNow] says what a vote is good for now: a role that its giver
//     lost, or an asker who joined later, takes its weight away. The zero [Weight] counts for nothing.
//   - A quorum is a [approval.Rule] with needs. [Count] gives a [Tally]: the status, who filled which seat, and what is
//     missing, in words that cards show.
//
// Take a rule with two approvals, one of them with role ops, and a yes of alice, who has that role. The tally is
// pending: Seats is 1, Need is 2. Bob's yes approves it. If bob is away and alice stands in for him, her yes may be
// taken in his stead, but the two fill one seat: by being away, no person adds to a quorum.
//
// QuorumImpossible tells beforehand if a rule could never be met (eligible.go), MayNotDecide who asked themselves
// (selfapproval.go), Covers whether a grant still holds for a call (grant.go).
package people
