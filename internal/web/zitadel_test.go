package web

import (
	"bufio"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/people"
)

// zitadel starts Zitadel's example provider, a process of its own, and gives its issuer.
func zitadel(t *testing.T) (issuer string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "oidcprovider")
	build := exec.Command("go", "build", "-C", "../internal/oidcprovider", "-o", program, ".")
	if text, err := build.CombinedOutput(); err != nil {
		t.Skipf("Zitadel's OpenID provider cannot be built here: %s", text)
	}
	run := exec.Command(program, base+callbackPath)
	in, err := run.StdinPipe()
	require.NoError(t, err)
	out, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	t.Cleanup(func() { _ = in.Close(); _ = run.Wait() })
	issuer, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(issuer)
}

// A provider that nobody here wrote signs in whose address the configuration has, and nobody
// else.
func TestOIDCOfAnotherHand(t *testing.T) {
	t.Parallel()
	issuer := zitadel(t)
	x := newSite(t, func(c *Config) { c.OIDC = OIDC{Issuer: issuer, ClientID: "desk", ClientSecret: "desk-secret"} })
	v := x.visitor()
	require.Equal(t, http.StatusForbidden, v.get(v.signsInAt(issuer)).StatusCode, "nobody has that address")
	require.False(t, v.in())

	alice := people.Person{Name: "alice", Email: "test-user@zitadel.ch"}
	d, err := people.NewDirectory(people.Rights{People: []people.Person{alice}})
	require.NoError(t, err)
	x.rules.People = d
	x.gate.Use(x.rules)
	require.Equal(t, "/", v.leads(v.get(v.signsInAt(issuer))))
	require.Contains(t, v.get("/me").text, "You are signed in as alice.")
}

// signsInAt goes through the provider's own pages, and gives where that leads to.
func (v *visitor) signsInAt(issuer string) (back string) {
	v.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(v.t, err)
	browser := &http.Client{Jar: jar, CheckRedirect: v.http.CheckRedirect}
	follow := func(out *http.Response, err error) *url.URL {
		require.NoError(v.t, err)
		out.Body.Close()
		to, err := out.Location()
		require.NoError(v.t, err, out.Status)
		return to
	}
	to := follow(browser.Get(v.leads(v.get("/signin/oidc"))))
	form := url.Values{"id": {to.Query().Get("authRequestID")}, "username": {"test-user@localhost"}, "password": {"verysecure"}}
	to = follow(browser.PostForm(issuer+"/login/username", form))
	to = follow(browser.Get(to.String()))
	return to.RequestURI()
}
