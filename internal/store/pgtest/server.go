package pgtest

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Server is a running PostgreSQL.
type Server struct {
	dir     string // data, log and socket
	orders  *os.File
	answers *bufio.Reader
	files   []*os.File
	keeper  *exec.Cmd
}

// keeper obeys one order a line and answers each. Stopping is SIGQUIT: the
// server ends at once, as in a crash, and recovers from its log when it starts.
const keeper = `
trap '' INT TERM
cd "$1"
while read -r order; do
  case $order in
  start) "$2/postgres" -D data -k "$1" -p 5432 -c listen_addresses= >>log 2>&1 & pid=$! ;;
  stop) kill -QUIT "$pid"; wait "$pid" ;;
  freeze) all="$pid $(cat /proc/$pid/task/$pid/children)"; kill -STOP $all ;;
  thaw) kill -CONT $all ;;
  esac
  echo "$order"
done
kill -CONT $all 2>/dev/null
kill -QUIT "$pid" && wait "$pid"
cd / && rm -rf "$1"
`

// bin is the folder of PostgreSQL's programs, the newest if there are several;
// empty: there is none.
func bin() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, real)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[0])
}

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// launch makes a server in a new folder and starts it.
func launch() (_ *Server, err error) {
	under := os.TempDir()
	if len(under) > 70 { // a socket's path has at most 107 bytes
		under = "/tmp"
	}
	dir, err := os.MkdirTemp(under, "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	who, err := owner()
	if err != nil {
		return nil, err
	}
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			return nil, err
		}
	}
	if err := s.initdb(who); err != nil {
		return nil, err
	}
	return s, errors.Join(s.keep(who), s.order("start"), s.answer())
}

// owner is whom the server runs as; nil: as this process does. PostgreSQL
// refuses to run as root.
func owner() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
	}
	return nil, errors.New("this is root, as whom PostgreSQL refuses to run, and this machine has neither of the users 'postgres' and 'nobody'")
}

// initdb makes the cluster. Its collation is not C, so that nothing can count on
// the order of bytes without asking for it. Only benchmarks wait for the disk: what
// a server has written is there for the next one without that, and on a busy disk
// a commit may take longer than the store is patient.
func (s *Server) initdb(who *syscall.Credential) error {
	args := []string{"-D", s.dir + "/data", "-U", "desk", "-E", "UTF8", "-A", "trust", "--no-sync"}
	if _, err := s.run(who, append(args, "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en")...); err != nil {
		if out, err := s.run(who, args...); err != nil { // it was not that it knows no ICU
			return fmt.Errorf("initdb: %w: %s", err, out)
		}
	}
	f, err := os.OpenFile(s.dir+"/data/postgresql.conf", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	fsync := "off"
	if bench := flag.Lookup("test.bench"); bench != nil && bench.Value.String() != "" {
		fsync = "on"
	}
	_, err = f.WriteString("shared_buffers = 32MB\nmax_connections = 200\nsynchronous_commit = on\nfsync = " + fsync + "\nhot_standby = off\n")
	return errors.Join(err, f.Close())
}

func (s *Server) run(who *syscall.Credential, args ...string) ([]byte, error) {
	os.RemoveAll(s.dir + "/data")
	cmd := exec.Command(filepath.Join(bin(), "initdb"), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: who}
	return cmd.CombinedOutput()
}

// keep starts the shell that obeys orders.
func (s *Server) keep(who *syscall.Credential) error {
	in, orders, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	answers, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	s.orders, s.answers, s.files = orders, bufio.NewReader(answers), []*os.File{orders, answers}
	s.keeper = exec.Command("/bin/sh", "-c", keeper, "pgtest", s.dir, bin())
	s.keeper.Stdin, s.keeper.Stdout = in, out
	// A group of its own: an interrupt from the terminal must not end the server
	// before the tests.
	s.keeper.SysProcAttr = &syscall.SysProcAttr{Credential: who, Setpgid: true}
	return s.keeper.Start()
}

func (s *Server) order(what string) error {
	if s.orders == nil {
		return errors.New("the server has ended")
	}
	if _, err := fmt.Fprintln(s.orders, what); err != nil {
		return err
	}
	_, err := s.answers.ReadString('\n')
	return err
}

// answer waits until the server takes connections.
func (s *Server) answer() error {
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var conn *pgconn.PgConn
		if conn, err = pgconn.Connect(context.Background(), s.url("postgres")); err == nil {
			return conn.Close(context.Background())
		}
	}
	return fmt.Errorf("it does not answer: %w\n%s", err, s.log())
}

// Stop ends the server at once, as a crash would.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.order("stop"); err != nil {
		t.Fatalf("PostgreSQL could not be stopped: %v", err)
	}
}

// Start starts a stopped server and waits until it has recovered.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	os.Remove(s.standby())
	if err := errors.Join(s.order("start"), s.answer()); err != nil {
		t.Fatalf("PostgreSQL could not be started: %v", err)
	}
}

// StartRecovering starts a stopped server that recovers, and so takes no connections
// (SQLSTATE 57P03), until it is stopped; the next Start ends that.
func (s *Server) StartRecovering(t testing.TB) {
	t.Helper()
	if err := errors.Join(os.WriteFile(s.standby(), nil, 0o644), s.order("start")); err != nil {
		t.Fatalf("PostgreSQL could not be started: %v", err)
	}
	var refused *pgconn.PgError
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, err := pgconn.Connect(context.Background(), s.url("postgres"))
		if errors.As(err, &refused) && refused.Code == "57P03" {
			return
		}
	}
	t.Fatalf("PostgreSQL does not recover\n%s", s.log())
}

// standby is the file that makes the server one that only follows another.
func (s *Server) standby() string { return s.dir + "/data/standby.signal" }

// Freeze stops the server in its tracks with all its connections: it neither
// answers nor refuses anything until Thaw.
func (s *Server) Freeze(t testing.TB) { s.must(t, "freeze") }

// Thaw lets a frozen server go on.
func (s *Server) Thaw(t testing.TB) { s.must(t, "thaw") }

func (s *Server) must(t testing.TB, order string) {
	t.Helper()
	if err := s.order(order); err != nil {
		t.Fatalf("PostgreSQL did not %s: %v", order, err)
	}
}

// Restart is Stop and Start.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	s.Start(t)
}

// log is the end of what the server has written.
func (s *Server) log() string {
	b, _ := os.ReadFile(s.dir + "/log")
	return string(b[max(0, len(b)-2000):])
}

// end closes the pipe, whereupon the shell stops the server and clears up.
func (s *Server) end() {
	for _, f := range s.files {
		f.Close()
	}
	if s.keeper != nil && s.keeper.Process != nil {
		s.keeper.Wait()
	}
	os.RemoveAll(s.dir)
}
