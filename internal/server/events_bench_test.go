package server

import (
	"fmt"
	"sync"
	"testing"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// BenchmarkEventToAThousandListeners is the time from a decision by policy to
// the last of a thousand listeners having its event, over loopback.
func BenchmarkEventToAThousandListeners(b *testing.B) {
	d := newDesk(b)
	addr, _ := d.serving(d.srv)
	all := make([]*listener, 1000)
	for i := range all {
		all[i] = listen(b, addr, "alice", "")
		defer all[i].close()
	}
	who := core.Caller{Token: "agent", MayRequest: true}
	for n := 0; b.Loop(); n++ {
		if _, _, err := d.gate.Submit(b.Context(), who, approval.Call{ToolName: "read", Params: fmt.Appendf(nil, `{"n":%d}`, n)}); err != nil {
			b.Fatal(err)
		}
		var heard sync.WaitGroup
		for _, l := range all {
			heard.Go(func() {
				if l.block() == nil {
					b.Error("the stream ended")
				}
			})
		}
		heard.Wait()
	}
}
