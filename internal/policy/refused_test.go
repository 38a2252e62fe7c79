package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestRefusesNothingThatOnlyLooksDestructive: with denyAtOrAbove R4, help and data that are compared are
// not refused; what destroys is.
func TestRefusesNothingThatOnlyLooksDestructive(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, refusing)
	for _, l := range []string{"shutdown --help", "reboot --help", "rm -f /tmp/x", "psql -c \"select * from log where q ilike '%drop table%'\""} {
		require.NotEqual(t, approval.OutcomeDeny, judge(e, lineCall(t, l)).Outcome, l)
	}
	for _, l := range []string{"shutdown", "shutdown -h", "shutdown -h now", "shutdown now", "reboot", "halt -f", "poweroff", "shutdown --help now", "shutdown --help -r", "shutdown --hel", "shutdown --help $X", "rm -f /srv/x"} {
		require.Equal(t, approval.OutcomeDeny, judge(e, lineCall(t, l)).Outcome, l)
	}
	for sql, outcome := range map[string]approval.Outcome{
		"SELECT * FROM log WHERE query ILIKE '%drop table%'": approval.OutcomeAsk, "select a from t where b = 'truncate table x' and c like '%delete from%';": approval.OutcomeAsk, "select a from t where b <> 'drop database x'": approval.OutcomeAsk,
		"select 1; drop table t": approval.OutcomeDeny, "drop table t": approval.OutcomeDeny, "select a from t where b like 'x'; drop table t": approval.OutcomeDeny, "select dblink_exec('drop table t')": approval.OutcomeDeny,
		"select a from t where b like '\\'; drop table t --'": approval.OutcomeDeny, "select a from t where b like 'x'''; drop table t; select '": approval.OutcomeDeny, "delete from t where a like 'drop table'": approval.OutcomeDeny,
		"select a from t where b like $$x$$; drop table t": approval.OutcomeDeny, "select a where x = 'a' -- '\n; drop table t": approval.OutcomeDeny, "with x as (drop table t) select a from t where b = 'y'": approval.OutcomeDeny,
	} {
		for _, tool := range []string{"run_query", "mcp__postgres__query", "mcp__db__run"} {
			require.Equal(t, outcome, judge(e, callOf(t, tool, map[string]any{"sql": sql})).Outcome, "%s %s", tool, sql)
		}
	}
}
