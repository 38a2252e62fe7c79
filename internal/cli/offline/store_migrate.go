package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/store"
)

func newMigrateCommand(a *app.App) *cobra.Command {
	var from, to string
	var keyFile, toKeyFile string
	cmd := &cobra.Command{
		Use:   "migrate --from sqlite:… --to postgres:…",
		Short: "Move a stopped desk's whole state into another, empty store",
		Long: "Copy all that one store holds into another, empty one: approvals, sealed calls, cards, grants, updates and the log, in one\n" +
			"transaction. The log's chain is verified before and after and must be the same. Stop the desk first; afterwards point\n" +
			"store.url at the new store. Calls are sealed anew if the key files differ.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if toKeyFile == "" {
				toKeyFile = keyFile
			}
			return runMigration(cmd.Context(), a, store.Options{URL: from, KeyFile: keyFile, Version: a.Version},
				store.Options{URL: to, KeyFile: toKeyFile, Version: a.Version})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&from, "from", "", "the store to copy, as in store.url")
	fl.StringVar(&to, "to", "", "the empty store to copy to")
	fl.StringVar(&keyFile, "key-file", "approvalbot.key", "key file of the store to copy")
	fl.StringVar(&toKeyFile, "to-key-file", "", "key file of the new store (else the same)")
	_ = cmd.MarkFlagRequired("from")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func runMigration(ctx context.Context, a *app.App, from, to store.Options) (err error) {
	source, err := store.OpenExisting(ctx, from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	line := started(a, "copying")
	defer line.End()
	to.Saying = line.At
	target, err := store.Open(ctx, to)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- target.Run(running) }()
	copied, err := store.Copy(ctx, source, target)
	stop()
	line.End()
	if err = errors.Join(err, <-ended, target.Close()); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(copied)
	}
	for _, table := range slices.Sorted(maps.Keys(copied.Rows)) {
		fmt.Fprintf(a.Stdout, "%-14s %d\n", table, copied.Rows[table])
	}
	fmt.Fprintf(a.Stdout, "The log is the same in both: %d records, the last one %s. "+
		"Point store.url at the new store now.\n", copied.Events, copied.Head[:min(12, len(copied.Head))])
	return nil
}
