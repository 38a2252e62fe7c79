package card

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// The buttons are the options alone, also if what is asked looks like one.
func TestAnswersAreTheOptions(t *testing.T) {
	t.Parallel()
	for _, q := range []string{
		`{"question":"1. No, keep (C:\\data)","multiSelect":false,"options":[{"label":"Delete"},{"label":"Later"}]}`,
		`{"header":"1. Scope","question":"Which?","multiSelect":false,"options":[{"label":"Delete"},{"label":"Later"}]}`,
		`{"question":"Which?\n1. Keep","multiSelect":false,"options":[{"label":"Delete"},{"label":"Later"}]}`,
	} {
		facts, err := PayloadFacts(approval.Call{ToolName: QuestionTool, Params: json.RawMessage(`{"questions":[` + q + `]}`)})
		require.NoError(t, err)
		require.Equal(t, []string{"Delete", "Later"}, answers(approval.Approval{Asked: approval.Asked{ToolName: QuestionTool}}, facts), q)
	}
}

// An answer's text is the note only if it names that option and no other; else its number is.
func TestAnswerNote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"Blue": "Blue", "2": "2", "10": "2", "GREEN": "2", `a\u{202E}b`: "2", "[REDACTED]": "2",
		" Blue": "2", strings.Repeat("x", 501): "2"} {
		require.Equal(t, want, AnswerNote([]string{"Green", text}, 2), text)
	}
}
