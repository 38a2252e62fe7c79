// Command opa serves a Rego policy for the benchmark, in one of two ways: as
// Open Policy Agent's own server, or with its library behind net/http. It is a
// module of its own, so that the desk does not get its dependencies. It prints
// its address, and ends when its input closes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/runtime"
)

func main() {
	if len(os.Args) != 3 {
		fail(errors.New("usage: opa server|library POLICY"))
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	run := library
	if os.Args[1] == "server" {
		run = server
	}
	if err := run(ctx, os.Args[2]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "opa:", err)
	os.Exit(1)
}

// server is what "opa run --server POLICY" runs, without its log of requests.
func server(ctx context.Context, policy string) error {
	params := runtime.NewParams()
	params.Paths, params.Addrs = []string{policy}, &[]string{"127.0.0.1:0"}
	params.DiagnosticAddrs = &[]string{}
	params.GracefulShutdownPeriod = 1
	params.Logger = logging.NewNoOpLogger()
	rt, err := runtime.NewRuntime(ctx, params)
	if err != nil {
		return err
	}
	ready := make(chan error, 1)
	go func() { ready <- rt.Serve(ctx) }()
	for {
		select {
		case err := <-ready:
			return err
		default:
		}
		if addrs := rt.Addrs(); len(addrs) > 0 {
			fmt.Println(addrs[0])
			return <-ready
		}
	}
}

// library is a prepared query behind net/http, in the server's own format.
func library(ctx context.Context, policy string) error {
	text, err := os.ReadFile(policy)
	if err != nil {
		return err
	}
	query, err := rego.New(rego.Query("x = data.approvals.decision"), rego.Module("policy.rego", string(text))).PrepareForEval(ctx)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input any }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		found, err := query.Eval(r.Context(), rego.EvalInput(in.Input))
		if err != nil || len(found) != 1 {
			http.Error(w, fmt.Sprint("no decision: ", err), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"result": found[0].Bindings["x"]})
	})}
	go func() {
		<-ctx.Done()
		srv.Close()
	}()
	fmt.Println(ln.Addr())
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
