package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
)

// healthTime bounds one look at a desk.
const healthTime = 5 * time.Second

// newHealthCommand is the probe for places that have no shell. It does not read
// the configuration: a mistake in it need not affect the running desk.
func newHealthCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Ask the desk's /readyz, for probes: exit status 0 if it is ready, else 1",
		Long: "Ask the desk's /readyz, at --server, else APPROVALBOT_SERVER, else " + config.DefaultServer + ". No token is needed or sent,\n" +
			"so the desk's certificate is not checked. --json prints the whole answer. Exit status: 0 if it is ready to take requests, else 1.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTime)
			defer cancel()
			probe := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
				DisableKeepAlives: true}}
			r, err := (&api.Client{Server: cmp.Or(a.Server, a.Env["APPROVALBOT_SERVER"], config.DefaultServer),
				HTTP: probe}).Ready(ctx)
			if a.JSON && err == nil {
				err = a.PrintJSON(r)
			}
			switch {
			case err != nil:
				return err
			case a.JSON && r.Ready:
				return nil
			case !r.Ready:
				return fmt.Errorf("the desk is not ready: store %s, policy %s", cmp.Or(r.Store, "unknown"),
					cmp.Or(r.Policy, "unknown"))
			}
			_, err = fmt.Fprintln(a.Stdout, "ready")
			return err
		},
	}
}
