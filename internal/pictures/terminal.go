package main

import (
	"context"
	"fmt"
	"strings"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/server/view"
)

// Terminals of so many columns: beside an editor, and a window of its own.
const (
	narrowTerminal = 45
	wideTerminal   = 100
)

// terminal is what approvalbot watch shows of an approval on a terminal with that number of
// columns.
func (d *desk) terminal(ctx context.Context, a approval.Approval, columns int) (string, error) {
	c, err := d.gate.Card(ctx, a)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	show.Card(show.Column{To: &out, Width: columns}, api.Approval{
		Status: api.Pending, Code: a.Code, RiskClass: a.Assessment.RiskClass.String(), ExpiresAtMs: a.ExpiresAtMs, Card: view.CardOf(c),
	})
	return out.String(), nil
}

// terminals is [desk.terminal] on both.
func (d *desk) terminals(ctx context.Context, a approval.Approval) (string, error) {
	var out strings.Builder
	for _, columns := range []int{narrowTerminal, wideTerminal} {
		text, err := d.terminal(ctx, a, columns)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s\n%s\n", strings.Repeat("=", columns), text)
	}
	return out.String(), nil
}
