// Package panics keeps a panic over one request, update or tool call from ending the
// program, and from being taken for an answer.
package panics

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// Catch ends a panic of the function that defers it: defer panics.Catch(...). It logs
// message with the panic and its stack beside args, and then calls deny, which must
// answer as for a call that was not decided. [http.ErrAbortHandler], which is net/http's
// own way to break an answer off, is panicked again. Without a panic, Catch has no
// effect.
func Catch(log *slog.Logger, deny func(), message string, args ...any) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	log.Error(message, append(args, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))...)
	deny()
}
