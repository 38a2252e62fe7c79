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
// message with the panic and its stack beside args, and then calls deny, which is to
// answer as what was not decided is answered. [http.ErrAbortHandler], which is net/http's
// own way to break an answer off, goes on. Without a panic it does nothing.
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
