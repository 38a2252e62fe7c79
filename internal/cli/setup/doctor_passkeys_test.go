package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config/effective"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
)

// Doctor warns of whoever could approve and could not sign, and fails where too few could.
func TestDoctor_SaysWhoCannotSign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, "desk.db")
	findings := func(policy string) (out []string) {
		cfg, _, err := effective.Parse(filepath.Join(dir, "f.yaml"), fmt.Appendf(nil, `
server: {publicUrl: "https://desk.example.org"}
store: {url: %q}
people: [{name: alice, telegram: 111}, {name: bob, telegram: 222}]
channels: {telegram: {botToken: "1:a", allowedUserIds: [111, 222]}}
approvals: {tools: {policy: {%s}}}
`, url, policy), nil, nil)
		require.NoError(t, err)
		for _, f := range passkeyFindings(t.Context(), cfg) {
			out = append(out, fmt.Sprintf("%s %s", f.Level, f.Text))
		}
		return out
	}
	require.Empty(t, findings(""), "no yes need be signed")
	require.Regexp(t, "^warn cannot be read", findings("stepUpAtOrAbove: R4")[0])

	s, err := store.Open(t.Context(), store.Options{URL: url, KeyFile: filepath.Join(dir, "key")})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-ended)
	})
	enrol := func(who string) {
		require.NoError(t, s.ChangePasskeys(t.Context(), who, func([]signin.Passkey) (signin.PasskeyChange, error) {
			return signin.PasskeyChange{Add: &signin.Passkey{ID: who, Person: who}}, nil
		}))
	}
	enrol("alice")
	require.Equal(t, []string{
		"FAIL R4 needs 2 signed approvals, and 1 of those who could approve have a passkey: such requests are denied at once",
		"warn a yes must be signed, and these people have no passkey for it: bob",
	}, findings("stepUpAtOrAbove: R4, minApprovalsByRisk: {R4: 2}"))
	enrol("bob")
	require.Equal(t, []string{"ok everyone who could approve has one"}, findings("stepUpAtOrAbove: R4"))
}
