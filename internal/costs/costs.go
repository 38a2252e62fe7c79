// Package costs has what a call and a start cost, as numbers that do not depend on the machine: allocations, SQL
// statements, memory and bytes. costs.tsv has them, a line each, with the percentage by which one may grow. Its test
// measures them and fails if one grew by more, so that a commit that costs more also changes costs.tsv.
//
//	make costs
//
// writes them anew. The test does not measure under the race detector, which allocates for itself.
package costs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// cost is one line of costs.tsv: name, value, the percentage by which it may grow, and a
// description, separated by tabs.
type cost struct {
	name   string
	value  float64
	growth float64
	says   string
}

func read(text string) (list []cost, err error) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("costs.tsv has a line %q without three tabs; see package costs", line)
		}
		c := cost{name: f[0], says: f[3]}
		if c.value, err = strconv.ParseFloat(f[1], 64); err != nil {
			return nil, fmt.Errorf("costs.tsv: the value of %s is not a number: %w", c.name, err)
		}
		if c.growth, err = strconv.ParseFloat(f[2], 64); err != nil {
			return nil, fmt.Errorf("costs.tsv: the growth of %s is not a number: %w", c.name, err)
		}
		list = append(list, c)
	}
	return list, nil
}

func write(list []cost) string {
	var out strings.Builder
	for _, c := range list {
		fmt.Fprintf(&out, "%s\t%s\t%g\t%s\n", c.name, number(c.value), c.growth, c.says)
	}
	return out.String()
}

// number writes a value so exactly that rounding is no growth.
func number(value float64) string {
	if value < 1000 {
		return strconv.FormatFloat(math.Round(value*100)/100, 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'f', 0, 64)
}

// grew lists the costs that are larger than the line of that name allows, or that have no
// line.
func grew(allowed, measured []cost) (list []string) {
	for _, m := range measured {
		line := cost{}
		for _, a := range allowed {
			if a.name == m.name {
				line = a
			}
		}
		if m.value > line.value*(1+line.growth/100) {
			list = append(list, fmt.Sprintf("%s (%s) is %s; costs.tsv has %s and lets it grow by %g %%",
				m.name, m.says, number(m.value), number(line.value), line.growth))
		}
	}
	return list
}
