package messages_test

import (
	"encoding/json"
	"fmt"

	"approvalbot/api"
	"approvalbot/internal/messages"
)

// The model sees its own calls and their results, and nothing of the approvals.
func ExamplePrepare() {
	stored := []json.RawMessage{
		json.RawMessage(`{"role":"user","content":"Deploy it."}`),
		json.RawMessage(`{"role":"assistant","content":"","tool_calls":[{"id":"approval_msg-1","type":"function","function":{"name":"client.requestApproval","arguments":"{}"}}]}`),
		json.RawMessage(`{"role":"tool","tool_call_id":"approval_msg-1","content":"{\"decision\":\"approve\",\"scope\":\"once\",\"toolName\":\"deploy\"}"}`),
		json.RawMessage(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"deploy","arguments":"{}"}}]}`),
		json.RawMessage(`{"role":"tool","tool_call_id":"call_1","content":"done"}`),
	}
	out, err := messages.Prepare(api.PrepareRequest{Messages: stored})
	if err != nil {
		panic(err)
	}
	for _, m := range out.Messages {
		fmt.Println(string(m))
	}
	// Output:
	// {"role":"user","content":"Deploy it."}
	// {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"deploy","arguments":"{}"}}]}
	// {"role":"tool","tool_call_id":"call_1","content":"done"}
}

// What a person sees of a call's arguments.
func ExampleSanitise() {
	fmt.Println(string(messages.Sanitise([]byte(`{"url":"https://x.org","headers":{"X-Api-Key":"k-123"}}`))))
	// Output: {"url":"https://x.org","headers":{"X-Api-Key":"[REDACTED]"}}
}
