// Command oidcprovider is an OpenID provider for a test of signing in: Zitadel's own
// example server, in a module of its own for its many dependencies. It has one user,
// test-user@localhost, whose address is test-user@zitadel.ch, and one client, which is
// sent back to the address that is its argument. It prints its issuer.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: oidcprovider REDIRECT-ADDRESS")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	issuer := fmt.Sprintf("http://localhost:%d", ln.Addr().(*net.TCPAddr).Port)
	storage.RegisterClients(storage.WebClient("desk", "desk-secret", args[0]))
	users := storage.NewStorage(storage.NewUserStore(issuer))
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	server := exampleop.SetupServer(issuer, users, quiet, false, op.WithAllowInsecure())
	fmt.Println(issuer)
	go func() { // it ends with whoever started it
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(ln, server)
}
