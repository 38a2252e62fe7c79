package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// What a bundle of options or a comment hid of a call that is as bad as can be.
func TestAdversary_T31_HiddenInBundlesAndComments(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, line := range []string{
		"docker run -dv/:/h x", "docker run -itdv/:/h x", "docker create -iv/:/h x", "podman run -dv/etc:/h x", "docker compose down -vt 5",
		"docker compose down -tv 5", `psql -c 'DROP/**/TABLE a'`, `psql -c 'DELETE/**/FROM a'`, `mysql -e '/*!50000 DROP*/ TABLE a'`, `psql -c 'truncate/**/a'`,
	} {
		require.Equal(t, approval.R4, judge(e, lineCall(t, line)).Assessment.RiskClass, line)
	}
}
