package gateway

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// A yes that must be signed is refused in every dialect with the page where it can be.
func TestStepUpIsRefusedWithItsPage(t *testing.T) {
	t.Parallel()
	e := approval.Refuse(approval.CodeStepUpRequired, "A yes to this counts only when your passkey signs it.")
	e.URL = "https://desk.example.org/a/K7QX2M"
	text, err := json.Marshal(refused(e, slog.New(slog.DiscardHandler), "exec.approval.resolve", "watch"))
	require.NoError(t, err)
	require.JSONEq(t, `{"code":"FORBIDDEN","message":"A yes to this counts only when your passkey signs it.",
		"details":{"reason":"STEP_UP_REQUIRED","code":"step_up_required","url":"https://desk.example.org/a/K7QX2M"}}`, string(text))
}
