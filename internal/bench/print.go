package main

import (
	"fmt"
	"slices"
	"time"
)

// series are the values of each figure, one a round.
type series map[string][]float64

func (s series) add(name string, v float64) { s[name] = append(s[name], v) }

// ratio adds a figure that is one of this round divided by another.
func (s series) ratio(name, of, by string) {
	a, b := s[of], s[by]
	s.add(name, a[len(a)-1]/b[len(b)-1])
}

// row prints a figure's median and range.
func (s series) row(name, unit string) { fmt.Println(s.text(name, unit)) }

// atMost prints a figure with its target, and whether the median meets it.
func (s series) atMost(name, unit string, target float64) {
	s.judged(name, unit, "≤", target, s.median(name) <= target)
}

// atLeast is atMost for what should be large.
func (s series) atLeast(name, unit string, target float64) {
	s.judged(name, unit, "≥", target, s.median(name) >= target)
}

func (s series) judged(name, unit, sign string, target float64, ok bool) {
	word := "reached"
	if !ok {
		word = "MISSED"
	}
	fmt.Printf("%s   target %s %.4g   %s\n", s.text(name, unit), sign, target, word)
}

func (s series) text(name, unit string) string {
	v := slices.Sorted(slices.Values(s[name]))
	if len(v) == 0 {
		return fmt.Sprintf("  %-66s not measured", name)
	}
	return fmt.Sprintf("  %-66s %10.2f %-4s (%.2f … %.2f)", name, v[len(v)/2], unit, v[0], v[len(v)-1])
}

func (s series) median(name string) float64 {
	v := slices.Sorted(slices.Values(s[name]))
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// quantile gives the value below which that share of all lies; it sorts.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

func median(all []time.Duration) time.Duration { return quantile(all, 0.5) }
