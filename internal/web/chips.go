package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// chip is a link that sets a filter of a list, or takes it away again.
type chip struct {
	Text  string
	Count int // how much of the list it selects; 0 if not known
	Path  string
	On    bool // the filter is set
}

// mostChips is how many values of one filter have a chip, the most frequent first.
const mostChips = 6

// chipsOf are the chips of one filter for the values that a list has: none if the list has a single value. One that
// is set is always among them.
func chipsOf(q url.Values, name string, all []approval.Approval, value func(approval.Approval) string) (out []chip) {
	counts := map[string]int{}
	for _, a := range all {
		counts[value(a)]++
	}
	set := q.Get(name)
	if len(counts) < 2 && set == "" {
		return nil
	}
	if set != "" && counts[set] == 0 {
		counts[set] = 0
	}
	for value, n := range counts {
		if value != "" {
			out = append(out, chipOf(q, name, value, n))
		}
	}
	slices.SortFunc(out, func(x, y chip) int {
		if name == "risk" {
			return strings.Compare(y.Text, x.Text)
		}
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(x.Text, y.Text))
	})
	kept := out[:0]
	for i, c := range out {
		if i < mostChips || c.On {
			kept = append(kept, c)
		}
	}
	return kept
}

// chipOf is the chip that sets a filter to a value, or clears the filter if it has that value.
func chipOf(q url.Values, name, value string, n int) chip {
	c := chip{Text: display.Safe(value), Count: n, On: q.Get(name) == value}
	next := url.Values{}
	for k, v := range q {
		if len(v) > 0 && v[0] != "" && k != name && k != "page" && k != "cursor" {
			next[k] = v[:1]
		}
	}
	if name == "who" {
		c.Text = "Waiting for me"
	}
	if !c.On {
		next.Set(name, value)
	}
	c.Path = "?" + next.Encode()
	return c
}

// uncounted are chips of a list that is not all that there is, without how often each is on it.
func uncounted(all []chip) []chip {
	for i := range all {
		all[i].Count = 0
	}
	return all
}
