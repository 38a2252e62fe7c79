package offline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/internal/approval"
	"approvalbot/internal/audit"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/display"
	"approvalbot/internal/store"
)

func newBackupCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a checked copy of the store into a new file, also while the desk runs",
		Long: "Write a copy of the configured SQLite store, as it is at one moment, into FILE, which must not be there. It appears when\n" +
			"it is complete: the database and the log's chain were checked. The key file is not in it: keep a copy of that too, but\n" +
			"elsewhere, since both together open the sealed calls. To restore, put FILE and the key file at the paths of store.url and\n" +
			"store.keyFile, and start the desk. PostgreSQL is backed up with pg_dump.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runBackup(cmd.Context(), a, args[0]) },
	}
}

func runBackup(ctx context.Context, a *app.App, file string) error {
	o, err := storeOptions(a, "PostgreSQL is backed up with its own tools: pg_dump --format=custom")
	if err != nil {
		return err
	}
	line := started(a, "copying the store")
	b, err := store.BackupSaying(ctx, o.URL, file, line.At)
	line.End()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(b)
	}
	fmt.Fprintf(a.Stdout, "Backup %s is whole: %d bytes, log up to record %d.\n", display.Escape(b.File), b.Bytes,
		b.Last)
	fmt.Fprintf(a.Stdout, "The key is not in it. It needs key %s, now in %s: keep a copy of that elsewhere.\n",
		display.Escape(b.KeyID), display.Escape(o.KeyFile))
	return nil
}

// storeOptions gives the options of the configured store. If the store is on a server,
// its error is otherwise, which says what to do instead; empty: any store will do.
func storeOptions(a *app.App, otherwise string) (store.Options, error) {
	cfg, _, err := effective.Load(a.Config, a.Environ, nil)
	if err == nil && strings.HasPrefix(cfg.Store.URL, "postgres") && otherwise != "" {
		err = errors.New(otherwise)
	}
	return optionsOf(cfg, a), err
}

func optionsOf(cfg config.Config, a *app.App) store.Options {
	return store.Options{URL: cfg.Store.URL, KeyFile: cfg.Store.KeyFile, Version: a.Version}
}

func newStoreCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Look after the store of a stopped desk"}
	cmd.AddCommand(newCompactCommand(a), newVacuumCommand(a), newMigrateCommand(a))
	return cmd
}

func newKeysCommand(a *app.App) *cobra.Command {
	var discardOld, exposed bool
	rotate := &cobra.Command{
		Use:   "rotate",
		Short: "Give the store another key and seal everything anew; the desk must be stopped",
		Long: "Make a new key, seal every call of the store anew with it, and put it in the key file's place. A crash at any point\n" +
			"leaves a store that starts. Old checkpoints still count, and old receipts too unless the key was --exposed.\n" +
			"The old key signs the new one, so that clients that pinned it follow; an --exposed key does not sign.\n" +
			"Backups made before need the old key: " +
			"it stays beside the new one, as KEYFILE.old-ID, unless it is discarded.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return rotateKey(cmd.Context(), a, !discardOld, exposed) },
	}
	rotate.Flags().BoolVar(&discardOld, "discard-old", false,
		"keep no copy of the old key; backups made before cannot be read without one")
	rotate.Flags().BoolVar(&exposed, "exposed", false,
		"others may have the old key: receipts signed with it count no longer, and clients do not follow it to the new one")
	cmd := &cobra.Command{Use: "keys", Short: "Look after the key that seals and signs"}
	cmd.AddCommand(rotate, newTrustCommand(a))
	return cmd
}

func newTrustCommand(a *app.App) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Write the desk's public keys into a client file, so that no other program is taken for the desk",
		Long: "Ask the desk of the client file (--client, else as for every verb) for its public keys, without the token,\n" +
			"and write them into the file as deskKeys. If the file has keys, these must lead to the desk's: keys rotate\n" +
			"signs the next key with the last, unless the last was --exposed. A file without keys knows the desk by its\n" +
			"socket or by the certificate of an https server; if it names neither, the first answer is trusted on loopback\n" +
			"alone, and the verb says so. Once the desk is known, it is asked what it calls the file's token, and that\n" +
			"is written as owner (a file with plainTCP that has one keeps it). All else in the file stays byte by byte.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			said, err := a.TrustDesk(cmd.Context(), replace)
			if err == nil {
				fmt.Fprintln(a.Stdout, said)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false,
		"take other keys in place of those in the file, as after keys rotate --exposed; be sure that the desk answers")
	return cmd
}

func rotateKey(ctx context.Context, a *app.App, keepOld, exposed bool) error {
	cfg, _, err := effective.Load(a.Config, a.Environ, nil)
	if err != nil {
		return err
	}
	o, issuer := optionsOf(cfg, a), cmp.Or(cfg.Server.PublicURL, "approvalbot")
	line := started(a, "sealing all anew")
	defer line.End()
	r, err := store.RotateKey(ctx, o, keepOld, func(old, next [32]byte) (json.RawMessage, approval.Event, error) {
		return retire(old, next, issuer, exposed)
	})
	line.End()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	fmt.Fprintf(a.Stdout, "Key %s is in %s now; %d calls were sealed anew.\n", display.Escape(r.NewID),
		display.Escape(o.KeyFile), r.Calls)
	if r.OldFile != "" {
		fmt.Fprintf(a.Stdout, "The old key %s is in %s.\n", display.Escape(r.OldID), display.Escape(r.OldFile))
	} else {
		fmt.Fprintf(a.Stdout, "The old key %s is gone from here; backups made before need it.\n",
			display.Escape(r.OldID))
	}
	fmt.Fprintln(a.Stdout, "Programs that check receipts fetch the key set anew; auditors note the new verifier key (audit keys).")
	if exposed {
		fmt.Fprintln(a.Stdout, "Clients do not follow to this key: renew each client file by hand (approvalbot doctor says how).")
	} else {
		fmt.Fprintln(a.Stdout, "Clients that pinned the old key follow to this one by themselves.")
	}
	return nil
}

// retire gives what the store keeps of a retired key, and the log's record of the change.
func retire(old, next [32]byte, issuer string, exposed bool) (json.RawMessage, approval.Event, error) {
	was, err := audit.SigningOf(old)
	if err != nil {
		return nil, approval.Event{}, err
	}
	now, err := audit.SigningOf(next)
	if err != nil {
		return nil, approval.Event{}, err
	}
	k, err := was.Retire(now, issuer, exposed, time.Now())
	if err != nil {
		return nil, approval.Event{}, err
	}
	public, err := json.Marshal(k)
	if err != nil {
		return nil, approval.Event{}, err
	}
	data, err := json.Marshal(map[string]any{"oldKey": was.Verifiers[0], "newKey": now.Verifiers[0],
		"exposed": exposed})
	return public, approval.Event{AtMs: time.Now().UnixMilli(), Type: approval.EventRekeyed, Data: data}, err
}
