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
			require.Contains(t, s.heard(s.toServer).Error["message"], "approvers cannot be shown the call")
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

// An answer is of the question that the client answered, if the server takes it back meanwhile and
// asks another under its id.
func TestAdversary_T1_AnAnswerIsOfItsQuestion(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	const asks = `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":%q}}`
	s.says(s.server, asks, "Delete the production database?")
	first := s.heard(s.toClient)
	for range 2 { // the second is of no request
		s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`)
	}
	s.says(s.server, asks, "Show the release notes?")
	cancel := s.heard(s.toClient)
	require.Equal(t, "notifications/cancelled", cancel.Method)
	require.JSONEq(t, `{"requestId":`+first.id()+`}`, paramsText(t, cancel.raw))
	second := s.heard(s.toClient)
	require.NotEqual(t, first.id(), second.id())
	for _, m := range []message{first, second} {
		s.says(s.client, `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"of":%s}}}`, m.id(), m.id())
	}
	m := s.heard(s.toServer)
	require.Equal(t, "q", m.ID)
	require.Contains(t, m.raw, `{"of":`+second.id()+`}`)
	require.Len(t, s.calls(), 1)
	require.Contains(t, s.last(), "release notes")
	require.Contains(t, <-s.log, "a request that it was not sent")
}

// On the card the client's answer comes before the server's words, however long these are.
func TestAdversary_T1_TheAnswerComesFirst(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.says(s.server, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":%q}}`, strings.Repeat("lorem ", 1000))
	s.says(s.client, `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"iban":"EVIL"}}}`, s.heard(s.toClient).id())
	require.Contains(t, s.heard(s.toServer).raw, "EVIL")
	require.Less(t, strings.Index(s.last(), "EVIL"), strings.Index(s.last(), "lorem"))
}

// Roots pass unasked in their plain form alone.
func TestAdversary_T1_RootsPassInPlainFormAlone(t *testing.T) {
	x := &relay{Proxy: Proxy{Workdir: t.TempDir()}}
	for uri, passes := range map[string]bool{
		"file://" + x.Workdir: true, "file://send:EVIL@" + x.Workdir: false, "file://evil" + x.Workdir: false, "file:" + x.Workdir: false,
		"file://" + x.Workdir + "?": false, "file://" + x.Workdir + "?EVIL": false, "file://" + x.Workdir + "#": false, "FILE://" + x.Workdir: false,
	} {
		require.Equal(t, passes, x.rootsWithin([]byte(`{"roots":[{"uri":"`+uri+`"}]}`)) != nil, uri)
	}
}

// A task that an allowed call began needs no question, however long its id is.
func TestAdversary_T1_ATaskWithALongIDIsKept(t *testing.T) {
	x, long := &relay{tasks: map[task]bool{}}, strings.Repeat("t", 1<<20)
	x.keepTask(task{id: long})
	require.True(t, x.knowsTask(task{"tasks/get", long}))
	require.False(t, x.knowsTask(task{"tasks/get", long + "t"}))
	for kept := range x.tasks {
		require.Len(t, kept.id, 64)
	}
}

// What people denied is not a card again each time that it is asked for.
func TestAdversary_T1_ADeniedAnswerIsNotAskedForAgain(t *testing.T) {
	s := newStage(t)
	s.approval = `{"id":"x","status":"denied","reason":"no"}`
	for i := range 5 {
		s.says(s.server, `{"jsonrpc":"2.0","id":"r%d","method":"roots/list"}`, i)
		s.says(s.client, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///elsewhere"}]}}`, s.heard(s.toClient).id())
		require.NotNil(t, s.heard(s.toServer).Error)
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t"}}`)
		require.NotNil(t, s.heard(s.toClient).Error)
	}
	require.Len(t, s.calls(), 2)
}
