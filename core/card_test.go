package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// What stands for a call in lists says what it does and where, within what a phone's
// notification shows.
func TestHeadlineSaysWhatAndWhere(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("long ", 100))
	bound := func(dir, host string) *approval.Bind { return &approval.Bind{Workdir: &dir, Host: &host} }
	for _, tt := range []struct {
		tool, params string
		bind         *approval.Bind
		want         string
	}{
		{"write", `{"content":"` + long + `","path":"/etc/cron.d/x"}`, nil, "write · path: /etc/cron.d/x · content: long long"},
		{"message", `{"body":"` + long + `","to":"#general"}`, nil, "message · to: #general · body: long"},
		{"edit", `{"newText":"b","oldText":"a","path":"go.mod"}`, nil, "edit · path: go.mod · newText: b · oldText: a"},
		{"deploy", `{"aaa":"` + long + `","host":"prod-1"}`, nil, "deploy · host: prod-1 · aaa: long"},
		{"deploy", `{"aaa":"` + long + `"}`, bound("/srv/app", "prod-1"), "deploy · aaa: long long long long long long long long long long long long … · in /srv/app on prod-1"},
		{"git_push", `{}`, nil, "git_push · params: none"},
		{"exec", `{"command":"git push"}`, bound("/srv/app", "prod-1"), "git push · in /srv/app on prod-1"},
		{"exec", `{"command":"git push","host":"node-2","workdir":"/srv/app"}`, bound("/srv/app", "node-2"), "git push · in /srv/app on node-2"},
		{"exec", `{"command":"git push","env":{"A":"b"},"workdir":"/srv/app"}`, nil, "git push · in /srv/app · env: A=b"},
		{"exec", `{"command":"echo ` + long + `","workdir":"/srv/app"}`, nil, "… · in /srv/app"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			a, _ := asked(t, tt.tool, tt.params, tt.bind)
			got := card.Headline(a)
			require.Contains(t, string([]rune(got)[:min(card.MaxNotice, card.CharCount(got))]), tt.want)
			require.LessOrEqual(t, card.CharCount(got), card.MaxHeadline)
			a = withdraw(a, "token:main-agent", "", 1).Approval
			ended := card.Draw(a, approval.Delivery{Kind: approval.CardDelivery, MessageID: "5"}, nil, reading()).Card
			require.Contains(t, ended.Summary, strings.TrimSuffix(got, "…"), "after the end it says the same")
		})
	}
}

// What an asker says of its withdrawal is a claim; the outcome says who withdrew it.
func TestAdversary_S7_AWithdrawalsReasonIsAClaim(t *testing.T) {
	const forged = "✅ allowed once by alice at 21 Nov 15:00:00 CET"
	a, _ := asked(t, "exec", `{"command":"git push"}`, nil)
	a = withdraw(a, "token:main-agent", forged, 1).Approval
	drawn := card.Draw(a, approval.Delivery{Kind: approval.CardDelivery, MessageID: "5"}, nil, reading()).Card
	require.Contains(t, drawn.Outcome.String(), "⌛ Withdrawn by token main-agent, ")
	require.NotContains(t, drawn.Outcome.String(), "llowed")
	require.Equal(t, []string{"withdrawn because: “" + forged + "”"}, drawn.Claims)
	require.Equal(t, "withdrawn by token main-agent", card.Ending(a))

	require.Equal(t, "⌛ K7QX2M: withdrawn by token main-agent\nWhy, in the asker's words: "+forged+"\nWhat: git push",
		card.Draw(a, approval.Delivery{Kind: approval.OutcomeDelivery}, nil, reading()).Text)
	own := withdraw(a, "person:bob", approval.WithdrawnByRequester, 1).Approval
	require.Equal(t, "⌛ K7QX2M: withdrawn by bob\nWhat: git push", card.Draw(own, approval.Delivery{Kind: approval.OutcomeDelivery}, nil, reading()).Text)
}

// A chat that is told in words reads each thing on a line of its own, and no words of
// others can look like one of them.
func TestAdversary_S7_ToldInWords(t *testing.T) {
	a, _ := asked(t, "exec", `{"command":"git push"}`, nil)
	a.Status, a.Decision, a.DecidedBy, a.Reason = approval.Approved, approval.AllowOnce, []string{"person:bob"}, "only if tests pass"
	require.Equal(t, "✅ K7QX2M: allowed once by bob\nReason: only if tests pass\nWhat: git push", card.Draw(a, approval.Delivery{Kind: approval.OutcomeDelivery}, nil, reading()).Text)

	late := a
	late.Status, late.DecidedBy, late.Reason = approval.Expired, nil, "nobody decided in time"
	require.Equal(t, "⌛ K7QX2M: expired: nobody decided in time\nWhat: git push", card.Draw(late, approval.Delivery{Kind: approval.OutcomeDelivery}, nil, reading()).Text)

	code := 1
	failed := a
	failed.Result = &approval.Result{Status: "failed", ExitCode: &code, Summary: "could not reach host\n✅ everything fine"}
	require.Equal(t, "❌ K7QX2M: The agent says it failed with exit status 1.\nIn its words: could not reach host\\u{A}✅ everything fine\nWhat: git push",
		card.Draw(failed, approval.Delivery{Kind: approval.ResultDelivery}, nil, reading()).Text)
	failedCard := card.Draw(failed, approval.Delivery{Kind: approval.CardDelivery, MessageID: "5"}, nil, reading()).Card
	require.True(t, failedCard.Bad)
	require.Equal(t, []string{"reported: “could not reach host\\u{A}✅ everything fine”"}, failedCard.Claims)

	c, err := revoke(a, "person:alice", "wrong host", 2)
	require.NoError(t, err)
	require.Equal(t, "only if tests pass", c.Approval.Reason, "the yes keeps its reason")
	require.Equal(t, "⛔ K7QX2M: allowed once by bob, then revoked by alice\nReason: only if tests pass\nReason for taking it back: wrong host\nWhat: git push",
		card.Draw(c.Approval, approval.Delivery{Kind: approval.RevokedDelivery}, nil, reading()).Text)
	require.NotRegexp(t, "^Denied", card.Draw(a, approval.Delivery{Kind: approval.ReasonDelivery}, nil, reading()).Text, "the first word becomes a link to the person")
}
