package main

import "os"

// lifecycle measures start, memory and stop, with approvals pending.
func lifecycle(b bench) error {
	s := series{}
	for range b.rounds {
		d, err := start(b.bin, options{})
		if err != nil {
			return err
		}
		s.add("resident when ready, no load", d.resident())
		s.add("… of it anonymous", d.anonymous())
		s.add("exec to /readyz 200", ms(d.ready))
		if err := d.askMany(50); err != nil {
			d.stop()
			return err
		}
		s.add("SIGTERM to exit, 50 approvals pending", ms(d.stop()))
	}
	s.atMost("exec to /readyz 200", "ms", 45)
	s.row("resident when ready, no load", "MB")
	s.atMost("… of it anonymous", "MB", 15)
	s.atMost("SIGTERM to exit, 50 approvals pending", "ms", 1000)
	if info, err := os.Stat(b.bin); err == nil {
		s.add("binary, stripped, cgo off", float64(info.Size())/(1<<20))
	}
	s.atMost("binary, stripped, cgo off", "MB", 44)
	return nil
}

// askMany makes so many approvals that wait for a person.
func (d *desk) askMany(n int) error {
	c, err := dial(d.addr, 4096)
	if err != nil {
		return err
	}
	defer c.net.Close()
	for i := range n {
		if _, err := c.do(asking(i, "")); err != nil {
			return err
		}
	}
	return nil
}
