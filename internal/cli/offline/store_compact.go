package offline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/display"
	"approvalbot/internal/store"
)

func newCompactCommand(a *app.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Give room that deleted rows took back to the disk; the desk must be stopped",
		Long: "Write the configured SQLite store anew without the pages that deleted rows left, check the copy through and through (the\n" +
			"database and the log's chain), and put it in the store's place. It says before how much comes back and what disk it needs,\n" +
			"refuses if the disk has not that much, and asks. It may not run beside the desk, a backup or a check of the log, and refuses\n" +
			"then. If it is ended in the middle, also by kill -9, the store is as it was. PostgreSQL does this itself.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCompaction(cmd.Context(), a, yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it without asking")
	return cmd
}

// newVacuumCommand is compact by its old name, which never asked.
func newVacuumCommand(a *app.App) *cobra.Command {
	cmd := newCompactCommand(a)
	cmd.Use, cmd.Hidden = "vacuum", true
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runCompaction(cmd.Context(), a, true) }
	return cmd
}

func runCompaction(ctx context.Context, a *app.App, yes bool) (err error) {
	o, err := storeOptions(a, "PostgreSQL reuses the space of deleted rows by itself; to give space back to the "+
		"disk, stop the desk and run VACUUM FULL in PostgreSQL, which locks each table while it runs")
	if err != nil {
		return err
	}
	c, err := store.OpenToCompact(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	switch {
	case a.JSON && !yes:
		return a.PrintJSON(map[string]int64{"bytes": c.Bytes, "back": c.Back, "needs": c.Needs, "disk": c.Disk})
	case !a.JSON:
		sayCompaction(a, c, strings.TrimPrefix(o.URL, "sqlite:"))
	}
	if !yes && c.Fits() && !agrees(ctx, a) {
		fmt.Fprintln(a.Stdout, "The store was not changed.")
		return app.ExitCode(app.ExitError)
	}
	line := started(a, "making the store's file anew")
	after, err := c.Run(ctx)
	line.End()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(map[string]int64{"bytesBefore": c.Bytes, "bytes": after})
	}
	fmt.Fprintf(a.Stdout, "The store has %d bytes now; it had %d. Start the desk again.\n", after, c.Bytes)
	return nil
}

// sayCompaction says what is going to happen.
func sayCompaction(a *app.App, c *store.Compaction, file string) {
	fmt.Fprintf(a.Stdout, "%s has %d bytes; about %d of them come back to the disk.\n", display.Escape(file), c.Bytes, c.Back)
	fmt.Fprintf(a.Stdout, "Meanwhile a copy beside it needs %d bytes", c.Needs)
	if c.Disk >= 0 {
		fmt.Fprintf(a.Stdout, "; %d are free there", c.Disk)
	}
	fmt.Fprintln(a.Stdout, ".\nNo desk has the store open, and no desk can start before this is over.")
}

// agrees asks for a yes. The end of the input is none.
func agrees(ctx context.Context, a *app.App) bool {
	typed, _ := app.ReadLines(ctx, a.Stdin)
	fmt.Fprint(a.Stdout, "Compact it? [y/N] ")
	select {
	case answer := <-typed:
		word := strings.ToLower(strings.TrimSpace(answer))
		return word == "y" || word == "yes"
	case <-ctx.Done():
		return false
	}
}
