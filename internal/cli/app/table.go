package app

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// Table is rows below a head. People at a terminal get them aligned, with their title; a program gets
// them whole, a line each, with tabs between the cells, and no title.
type Table struct {
	out   io.Writer
	tabs  *tabwriter.Writer // nil: a program reads it
	whole bool              // a program reads it: cells are not cut
}

// Table begins a table on stdout, without a title if title is empty.
func (a *App) Table(title string, head ...string) *Table {
	t := &Table{out: a.Plain(), whole: !show.IsTerminal(a.Stdout)}
	if !t.whole {
		t.tabs = tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
		if title != "" {
			fmt.Fprintln(t.out, a.Paint().Bold(title))
		}
	}
	t.Row(head...)
	return t
}

// Cell is text for a column of that width, or all of it if a program reads it; both are safe.
func (t *Table) Cell(s string, width int) string {
	if t.whole {
		return cmp.Or(display.Escape(s), "-")
	}
	return show.Cell(s, width)
}

// Row adds a row of safe cells.
func (t *Table) Row(cells ...string) {
	to := t.out
	if t.tabs != nil {
		to = t.tabs
	}
	fmt.Fprintln(to, strings.Join(cells, "\t"))
}

// Flush ends the table. The rest of what a verb says follows.
func (t *Table) Flush() error {
	if t.tabs == nil {
		return nil
	}
	return t.tabs.Flush()
}
