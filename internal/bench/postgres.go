package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres measures round trips through one, two and three desks on one PostgreSQL against
// the same round trip by hand. Each approval is decided at another desk than the one it was
// asked at. It is left out if PostgreSQL is missing or the binary does not take it.
func postgres(b bench) error {
	pg, err := startPostgres()
	if err != nil {
		fmt.Println("  PostgreSQL: not measured:", err)
		return nil
	}
	defer pg.stop()
	ref, err := self("-serve", "desk", "-db", pg.url("reference"))
	if err != nil {
		return err
	}
	defer ref.stop()
	contenders := [][]string{{ref.addr}}
	for n := 1; n <= 3; n++ {
		addrs, stop, err := desks(b, pg.url(fmt.Sprintf("desks%d", n)), n)
		if err != nil {
			fmt.Printf("  %d instances: not measured: %.500s\n", n, err)
			break
		}
		defer stop()
		contenders = append(contenders, addrs)
	}
	name := func(i int) string {
		if i == 0 {
			return "by hand: net/http + PostgreSQL (reference)"
		}
		return fmt.Sprintf("asked → resolved → woken on PostgreSQL, %d instances", i)
	}
	s := series{}
	for range b.rounds {
		for i, addrs := range contenders {
			got, err := roundTrip(addrs, 64, 1000)
			if err != nil {
				return err
			}
			s.add(name(i)+", 64 in flight", got.perSecond)
			if got, err = roundTrip(addrs, 1, 100); err != nil {
				return err
			}
			s.add(name(i)+", 1 in flight, p50", ms(got.p50))
		}
	}
	for i := range contenders {
		s.row(name(i)+", 64 in flight", "/s")
		s.row(name(i)+", 1 in flight, p50", "ms")
	}
	for i := 1; i < len(contenders); i++ {
		s.against(fmt.Sprintf("%d instances against the reference", i), name(i)+", 64 in flight", name(0)+", 64 in flight", 0.7)
	}
	return nil
}

// desks starts so many on one database. Their configuration file, key and port
// are the same, because instances have to have the same policy, and that names
// what belongs to the desk itself; each listens at a loopback address of its own.
func desks(b bench, url string, n int) (addrs []string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "approvalbot-bench-*")
	if err != nil {
		return nil, nil, err
	}
	var all []*desk
	stop = func() {
		for _, d := range all {
			d.stop()
		}
		os.RemoveAll(dir)
	}
	port, err := ownPort()
	for i := 0; i < n && err == nil; i++ {
		var d *desk
		d, err = start(b.bin, options{store: url, dir: dir, addr: fmt.Sprintf("127.0.0.%d:%d", i+1, port)})
		if err == nil {
			all, addrs = append(all, d), append(addrs, d.addr)
		}
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return addrs, stop, nil
}

// server is a PostgreSQL of our own, in a directory of its own, reached by a
// socket in it, with every commit on disk.
type server struct {
	dir string
	cmd *exec.Cmd
}

func startPostgres() (_ *server, err error) {
	initdb, err := findInitdb()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "benchpg") // short: a socket's path has at most 107 bytes
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	who, err := owner(dir)
	if err != nil {
		return nil, err
	}
	makes := exec.Command(initdb, "-D", dir+"/data", "-U", "desk", "-E", "UTF8", "-A", "trust")
	makes.Dir, makes.SysProcAttr = dir, who
	if out, err := makes.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %.300s", err, out)
	}
	s.cmd = exec.Command(filepath.Join(filepath.Dir(initdb), "postgres"), "-D", dir+"/data", "-k", dir, "-p", "5432",
		"-c", "listen_addresses=", "-c", "max_connections=200")
	s.cmd.Dir, s.cmd.SysProcAttr = dir, who
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, s.databases("reference", "desks1", "desks2", "desks3")
}

func findInitdb() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.EvalSymlinks(path) // its programs lie beside it
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("it is not on this machine; install it (apt-get install -y postgresql), or put its initdb on PATH")
	}
	return found[len(found)-1], nil
}

// owner is the account under which the server runs, because PostgreSQL refuses to run as
// root. It ends with this program.
func owner(dir string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if os.Getuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, errors.Join(err1, err2, os.Chown(dir, uid, gid))
}

// databases makes them as soon as the server answers.
func (s *server) databases(names ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url("postgres"))
	for ; err != nil && ctx.Err() == nil; c, err = pgx.Connect(ctx, s.url("postgres")) {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, name := range names {
		if _, err := c.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) url(database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&port=5432&user=desk", database, s.dir)
}

func (s *server) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGINT)
		_ = s.cmd.Wait()
	}
	os.RemoveAll(s.dir)
}
