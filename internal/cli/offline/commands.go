// Package offline has the verbs that look, without asking the desk, at what it keeps: its
// configuration, its store and keys, the log and receipts.
package offline

import (
	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
)

// Commands are the verbs about what a desk keeps: its configuration, its store
// and keys, and the log with its proofs.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newConfigCommand(a), newVerifierCommand(a), newAuditCommand(a), newReceiptCommand(a),
		newBackupCommand(a), newKeysCommand(a), newStoreCommand(a),
	}
}
