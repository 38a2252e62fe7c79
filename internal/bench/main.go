// Command bench measures the desk beside references of the same run, and prints
// the ratios: machines drift, ratios hold. It starts the real binary on a fresh
// directory, with a fake Telegram on loopback. Everything is bounded; nothing
// leaves the machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	bin := flag.String("bin", "bin/approvalbot", "the binary to measure")
	rounds := flag.Int("rounds", 5, "rounds of each pair, interleaved")
	flag.Parse()
	if err := run(*bin, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin string, rounds int) error {
	if err := lifecycle(bin, rounds); err != nil {
		return err
	}
	if err := roundTrips(bin, rounds); err != nil {
		return err
	}
	return throughput(bin, rounds)
}

// row prints one figure: its median, the range, the target and whether it holds.
func row(name string, values []float64, unit, target string) {
	slices.Sort(values)
	fmt.Printf("%-58s %10.2f %-6s (%.2f … %.2f)   target %s\n", name, values[len(values)/2], unit, values[0], values[len(values)-1], target)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(values []time.Duration) time.Duration {
	slices.Sort(values)
	return values[len(values)/2]
}
