package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
	"approvalbot/proof"
)

// jwksTime bounds how long a key set is waited for.
const jwksTime = 15 * time.Second

// receiptCheck is what a receipt is checked against.
type receiptCheck struct{ jwks, params, fingerprint, at string }

func newReceiptCommand(a *app.App) *cobra.Command {
	var v receiptCheck
	verify := &cobra.Command{
		Use:   "verify RECEIPT|-",
		Short: "Check that a receipt is for exactly this call, signed by the desk, and not expired",
		Long: "Check a receipt without asking the desk. The call comes with --params: a file with {toolName, params, bind?}, such as\n" +
			"the answer to a claim (- is standard input), whose fingerprint is computed here. With --fingerprint it is taken as\n" +
			"given. Exit status: 0 good, 1 bad.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return verifyReceipt(cmd.Context(), a, args[0], v) },
	}
	fl := verify.Flags()
	fl.StringVar(&v.jwks, "jwks", "",
		"the desk's key set: a file, or its https URL https://…/.well-known/jwks.json (http on this machine)")
	fl.StringVar(&v.params, "params", "", "a file with the call that is about to run")
	fl.StringVar(&v.fingerprint, "fingerprint", "", "the call's fingerprint, if you have computed it yourself")
	fl.StringVar(&v.at, "at", "", "check it as of that time, such as 2026-09-21T14:15:00Z (default: now)")
	cmd := &cobra.Command{Use: "receipt", Short: "Check what a claim answered with"}
	cmd.AddCommand(verify)
	return cmd
}

func verifyReceipt(ctx context.Context, a *app.App, receipt string, v receiptCheck) error {
	switch {
	case v.jwks == "":
		return errors.New("--jwks must name the desk's key set, fetched once from a desk that you trust")
	case (v.params == "") == (v.fingerprint == ""):
		return errors.New("give the call with --params FILE, or its fingerprint with --fingerprint, but not both")
	case receipt == "-" && v.params == "-":
		return errors.New("standard input cannot be both the receipt and the call")
	}
	at := time.Now()
	if v.at != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, v.at); err != nil {
			return errors.New("--at must be a time such as 2026-09-21T14:15:00Z")
		}
	}
	keys, err := keySet(ctx, a, v.jwks)
	if err != nil {
		return err
	}
	want, notes := v.fingerprint, noted{}
	if v.params != "" {
		call, err := readInput(a, v.params)
		if err != nil {
			return fmt.Errorf("the call cannot be read: %w", err)
		}
		if want, err = proof.FingerprintCall([]byte(call)); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(call), &notes); err != nil {
			return fmt.Errorf("the call's notes cannot be read: %w", err)
		}
	}
	if receipt == "-" {
		if receipt, err = readInput(a, "-"); err != nil {
			return fmt.Errorf("the receipt cannot be read: %w", err)
		}
		receipt = strings.TrimRight(receipt, "\r\n")
	}
	r, err := proof.Verify(receipt, keys, at, want)
	if err != nil {
		return err
	}
	if notes.Notes != nil && proof.NotesHash(*notes.Notes) != r.NotesHash {
		return errors.New("the receipt is for other notes than those in the call's file: do not trust the notes")
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	printReceipt(a, r)
	if r.NotesHash != "" && notes.Notes == nil {
		fmt.Fprintln(a.Plain(), "The approval came with people's notes, but they were not "+
			"checked: the call's file has no notes.")
	}
	return nil
}

// noted is what a call's file says of people's notes; nil: it does not mention notes.
type noted struct {
	Notes *[]approval.Note `json:"notes"`
}

func printReceipt(a *app.App, r proof.Receipt) {
	w := a.Plain()
	fmt.Fprintln(w, "OK: the receipt is for this call, and signed by the desk.")
	quorum := ""
	if r.Quorum.Needed > 0 {
		quorum = fmt.Sprintf(" (%d of %d)", r.Quorum.Got, r.Quorum.Needed)
	}
	show.Fields(w, 11, "Approval", display.Escape(r.Approval)+" ("+display.Escape(r.Code)+")",
		"Desk", display.Escape(r.Issuer), "Owner", display.Escape(r.Owner), "Tool", display.Escape(r.Tool), "Risk", r.RiskClass.String(),
		"Decision", display.Escape(string(r.Decision))+" by "+display.Escape(people.People(r.By))+quorum, "Allowed", show.When(r.IssuedAt*1000), "Until", show.When(r.ClaimUntilMs), "Receipt id", display.Escape(r.ID))
	if r.ClaimID != "" {
		show.Fields(w, 11, "Claim id", display.Escape(r.ClaimID))
	}
	for i, x := range r.Retries {
		fmt.Fprintf(w, "Retry %d: by %s, %s.\n", i+1, display.Escape(people.People(x.By)), show.When(x.AtMs))
	}
	for _, s := range r.Signed {
		fmt.Fprintf(w, "Signed by %s on %s with the passkey %s (key %s, signature no. %d).\n", display.Escape(s.Person),
			display.Escape(s.Origin), display.Escape(s.CredentialID), s.Thumbprint(), s.Seen().SignCount)
	}
}

// keySet reads a key set from a file or from a desk.
func keySet(ctx context.Context, a *app.App, from string) (proof.Keys, error) {
	var b []byte
	var err error
	if u, bad := url.Parse(from); bad == nil && (u.Scheme == "https" || u.Scheme == "http") {
		if b, err = fetchKeySet(ctx, u); err != nil {
			return nil, err
		}
	} else if b, err = os.ReadFile(from); err != nil {
		return nil, fmt.Errorf("the key set cannot be read: %w", err)
	}
	return proof.ParseJWKS(b)
}

// fetchKeySet gets a key set. Over plain http, an attacker on the network could replace
// it with another.
func fetchKeySet(ctx context.Context, u *url.URL) ([]byte, error) {
	if u.Scheme != "https" && !config.Loopback(u.Hostname()) {
		return nil, errors.New("--jwks must be an https URL, or http on this machine; or fetch " +
			"the key set yourself and name the file")
	}
	ctx, cancel := context.WithTimeout(ctx, jwksTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the key set cannot be fetched: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the key set cannot be fetched: %s answered %s", u.Host, res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxNote))
}
