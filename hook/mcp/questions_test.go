package mcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A question or an answer that no approver can be shown as it is reaches no approver.
func TestAdversary_T1_NoApproverSeesABlankCard(t *testing.T) {
	deep := strings.Repeat("[", 9999) + strings.Repeat("]", 9999) // as deep as a message may be
	t.Run("question", func(t *testing.T) {
		for _, params := range []string{`{"message":"May I?","message":"Delete all?"}`, "{\"message\":\"\xff\"}"} {
			s := newStage(t)
			s.says(s.server, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":%s}`, params)
			s.says(s.server, `{"jsonrpc":"2.0","id":"next","method":"ping"}`)
			require.Contains(t, s.heard(s.toServer).Error["message"], "a member twice")
			require.Equal(t, "ping", s.heard(s.toClient).Method)
		}
	})
	t.Run("answer", func(t *testing.T) {
		for _, result := range []string{`{"text":"EVIL","text":"EVIL"}`, "{\"text\":\"\xff\"}", deep} {
			s := newStage(t)
			s.approval = ""
			s.says(s.server, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage"}`)
			s.says(s.client, `{"jsonrpc":"2.0","id":%s,"result":%s}`, s.heard(s.toClient).id(), result)
			require.Contains(t, s.heard(s.toServer).Error["message"], "no approver can be shown it")
			require.Empty(t, s.calls())
		}
	})
	t.Run("call", func(t *testing.T) {
		_, err := call{beside: members{"task": []byte(deep)}}.params()
		require.Error(t, err)
	})
	t.Run("claim", func(t *testing.T) {
		_, err := claimed([]byte(`{"approvalbot/mcp":null}`))
		require.Error(t, err)
	})
}
