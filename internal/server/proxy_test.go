package server

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireProxies names the environment variable that, if set, makes a missing proxy a
// failure instead of a skipped test.
const requireProxies = "APPROVALBOT_REQUIRE_PROXIES"

// proxies are programs that people put in front of a desk, and their configuration:
// their own address, then the desk's. They keep connections to the desk, share them
// among clients, and end a request whose client has gone.
var proxies = map[string]struct {
	args   func(config string) []string
	env    string
	config string
}{
	"haproxy": {
		args: func(config string) []string { return []string{"-db", "-f", config} },
		config: `global
  maxconn 2000
  nbthread 1
defaults
  mode http
  timeout connect 60s
  timeout client 90s
  timeout server 90s
  http-reuse always
  option abortonclose
frontend clients
  bind fd@3 # %s
  default_backend desk
backend desk
  server desk %s
`},
	"nginx": {
		args: func(config string) []string {
			return []string{"-p", filepath.Dir(config), "-c", config, "-e", "stderr"}
		},
		env: "NGINX=3;",
		config: `daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen %s;
    location / {
      proxy_pass http://desk;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_read_timeout 90s;
      proxy_buffering off;
    }
  }
  upstream desk {
    server %s;
    keepalive 64;
  }
}
`},
}

// startProxy runs a proxy before the desk at that address, and gives its own and a
// function that ends it. The proxy inherits its socket, so nobody waits for its start.
func startProxy(t *testing.T, name, desk string) (addr string, stop func()) {
	program := findProxy(name)
	switch {
	case program == "" && os.Getenv(requireProxies) != "":
		t.Fatalf("%s is not installed", name)
	case program == "":
		t.Skipf("%s: not tested, install it", name)
	}
	p := proxies[name]
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	require.NoError(t, err)
	defer socket.Close()
	config := filepath.Join(t.TempDir(), name+".conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, p.config, l.Addr(), desk), 0o600))

	said := &bytes.Buffer{}
	cmd := exec.Command(program, p.args(config)...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = said, said, []*os.File{socket}
	cmd.Env = append(os.Environ(), p.env)
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // which nginx passes on to its worker
		err := <-ended
		ended <- err
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s: %s", name, said)
		}
	})
	return l.Addr().String(), stop
}

// findProxy gives the path of a program, which Debian has outside most people's PATH.
func findProxy(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if path := "/usr/sbin/" + name; exec.Command(path, "-v").Run() == nil {
		return path
	}
	return ""
}
