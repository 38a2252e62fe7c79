// Command bench measures the desk beside references of the same run, and prints the ratios,
// because machines drift but ratios hold. It starts the real binary on fresh directories,
// with a fake Telegram on loopback. The references are processes of their own too, so that
// they do not share a garbage collector with the load. The desk and its references take
// turns, round by round; medians are printed. Everything is bounded, and no request leaves
// the machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// measurements are what -only selects from, in the order in which they run.
var measurements = []struct {
	name string
	run  func(bench) error
}{
	{"start", lifecycle},
	{"evaluate", evaluate},
	{"settled", settled},
	{"policy", policyAlone},
	{"confine", confined},
	{"web", pages},
	{"chat", roundTrips},
	{"resolve", throughput},
	{"cards", cards},
	{"broadcast", toEveryChat},
	{"events", events},
	{"pending", pending},
	{"postgres", postgres},
}

func main() {
	b := bench{}
	flag.StringVar(&b.bin, "bin", "bin/approvalbot", "the binary to measure")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds of each figure, interleaved")
	flag.DurationVar(&b.span, "span", time.Second, "how long one turn of a load takes")
	only := flag.String("only", "", "comma-separated names of measurements: "+strings.Join(names(), ", ")+"; empty: all")
	serve := flag.String("serve", "", "be a reference instead: echo, desk or events")
	db := flag.String("db", "", "with -serve desk: the database, sqlite:FILE or postgres://…")
	room := chat{}
	flag.StringVar(&room.url, "chat", "", "with -serve desk: a Bot API's address with the token; what is asked is posted there")
	flag.Int64Var(&room.group, "group", 0, "with -chat: the chat")
	g := grown{}
	flag.IntVar(&g.size, "growth", 0, "instead, fill a store with so many approvals and print what operations cost at that size")
	flag.IntVar(&g.pending, "pending", 2000, "with -growth: how many wait besides")
	flag.StringVar(&g.engine, "engine", "sqlite", "with -growth: sqlite or postgres")
	flag.StringVar(&g.dir, "dir", "", "with -growth: a folder that stays, with a store that is filled once")
	calls := flag.Int("calls", 0, "be a plain client instead, that posts so many messages to the URL given")
	flag.Parse()
	err := error(nil)
	switch {
	case *serve != "":
		err = reference(*serve, *db, room)
	case *calls > 0:
		err = plainCalls(flag.Arg(0), *calls)
	case g.size > 0:
		err = growth(b, g)
	default:
		err = b.run(*only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func names() (all []string) {
	for _, m := range measurements {
		all = append(all, m.name)
	}
	return all
}

func (b bench) run(only string) error {
	wanted := names()
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("there is no measurement %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	var failed []error
	for _, m := range measurements {
		if !slices.Contains(wanted, m.name) {
			continue
		}
		fmt.Printf("\n%s\n", m.name)
		began := time.Now()
		if err := m.run(b); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m.name, err)) // the others have their figures all the same
		}
		fmt.Printf("  (%.0f s)\n", time.Since(began).Seconds())
	}
	return errors.Join(failed...)
}
