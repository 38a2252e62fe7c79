package main

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/proof"
)

// deskKeys is what the desk has its clients pin now.
func (r *rig) deskKeys() (pins []proof.PinnedKey, successions []string) {
	r.t.Helper()
	res, err := http.Get(r.url + "/.well-known/approvalbot-keys")
	require.NoError(r.t, err)
	defer res.Body.Close()
	var keys api.DeskKeys
	require.NoError(r.t, json.NewDecoder(res.Body).Decode(&keys))
	for _, k := range keys.DeskKeys {
		pins = append(pins, proof.DeskKey(k))
	}
	return pins, keys.Successions
}

// pins are the keys of a list.
func (r *rig) pins(keys []proof.PinnedKey) []ed25519.PublicKey {
	r.t.Helper()
	pins, err := proof.Pins(keys)
	require.NoError(r.t, err)
	return pins
}

func askedExec(command, claimID string) proof.Asked {
	params, _ := json.Marshal(map[string]string{"command": command})
	return proof.Asked{ToolName: "exec", Params: params, ClaimID: claimID}
}

// Whichever way a call is handed out, its receipt names the claim: no other receipt of
// the same call is an answer.
func TestAdversary_T6_EveryClaimHasAReceiptOfItsOwn(t *testing.T) {
	t.Parallel()
	r, owner := newRig(t, withCallbacks), newCalled(t)
	keys, _ := r.deskKeys()
	require.Len(t, keys, 2)
	pins := r.pins(keys)
	believed := func(c *api.Claim, asked proof.Asked) {
		t.Helper()
		require.NotNil(t, c)
		require.NoError(t, proof.Believe(c.Receipt, pins, asked, time.Now()))
		asked.ClaimID += "x"
		require.ErrorContains(t, proof.Believe(c.Receipt, pins, asked, time.Now()), "another claim")
	}
	request := func(command, session string) api.CreateRequest {
		return api.CreateRequest{ToolName: "exec", Params: askedExec(command, "").Params, AgentID: "main", SessionKey: session}
	}

	a, err := r.agent().Create(r.ctx(), request("ls", ""), api.CreateOptions{Claim: true, ClaimID: "policy"})
	require.NoError(t, err)
	believed(a.Claim, askedExec("ls", "policy"))

	a = r.exec("git push origin main", backTo(owner))
	r.tap(r.alice, r.group, r.card(a).ID, "Allow once")
	back := r.heard(owner)
	require.ErrorContains(t, proof.Believe(back.Receipt, pins, askedExec("git push origin main", "person"), time.Now()), "another claim")
	first, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "person"})
	require.NoError(t, err)
	believed(&first, askedExec("git push origin main", "person"))
	again, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "person"})
	require.NoError(t, err)
	require.Equal(t, first.Receipt, again.Receipt, "a lost answer is repeated to the letter")
	require.Contains(t, r.good("receipt", "verify", first.Receipt, "--jwks", r.url+"/.well-known/jwks.json", "--fingerprint", first.Fingerprint), "person")

	_, err = r.operator().RetryWithoutResult(r.ctx(), a.Code)
	require.NoError(t, err)
	require.Empty(t, claimOf(t, r.heard(owner).Receipt))
	retried, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "retry"})
	require.NoError(t, err)
	believed(&retried, askedExec("git push origin main", "retry"))

	b, err := r.agent().Create(r.ctx(), request("git push origin later", "s"), api.CreateOptions{})
	require.NoError(t, err)
	r.tap(r.alice, r.group, r.card(b).ID, "Allow once")
	b, err = r.agent().Create(r.ctx(), request("git push origin later", "s"), api.CreateOptions{Claim: true, ClaimID: "resumed", Resume: true})
	require.NoError(t, err)
	believed(b.Claim, askedExec("git push origin later", "resumed"))

	said, err := r.agent().Intercept(r.ctx(), api.InterceptRequest{SessionKey: "m", Message: json.RawMessage(
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"exec","arguments":"{\"command\":\"git push origin talk\"}"}}]}`)})
	require.NoError(t, err)
	_, err = r.operator().Resolve(r.ctx(), said.Calls[0].ApprovalID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	out, err := r.agent().Decisions(r.ctx(), api.DecisionsRequest{SessionKey: "m", Messages: []json.RawMessage{said.Message}, Claim: true, ClaimID: "talk"})
	require.NoError(t, err)
	require.NotNil(t, out.Calls[0].Claim)
	require.NotEmpty(t, out.Calls[0].Claim.ClaimID)
	believed(out.Calls[0].Claim, askedExec("git push origin talk", out.Calls[0].Claim.ClaimID))
}

// A call back that comes after the claim is of the approval, too.
func TestAdversary_T6_ACallBackNamesNoClaim(t *testing.T) {
	t.Parallel()
	r, owner := newRig(t, withCallbacks), newCalled(t)
	owner.away.Store(true)
	a := r.exec("git push origin main", backTo(owner))
	r.tap(r.alice, r.group, r.card(a).ID, "Allow once")
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "mine"})
	require.NoError(t, err)
	require.Equal(t, "mine", claimOf(t, claim.Receipt))
	r.outstanding("it has failed", func(c api.Callback) bool { return c.Error == "the owner answered 502" })
	r.stop()
	owner.away.Store(false)
	r.start()
	require.Empty(t, claimOf(t, r.heard(owner).Receipt))
}

// claimOf is the claim that a receipt names, unchecked.
func claimOf(t *testing.T, receipt string) string {
	var claims struct{ ClaimID string }
	parts := strings.Split(receipt, ".")
	require.Len(t, parts, 3)
	require.NoError(t, json.Unmarshal(must(base64.RawURLEncoding.DecodeString(parts[1])), &claims))
	return claims.ClaimID
}

// Clients follow rotations by what their own pins have signed, and none to or from a key
// that others may have.
func TestAdversary_T6_ClientsFollowRotationsUnlessAKeyIsExposed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	config := []string{"--config", r.configFile()}
	rotate := func(more ...string) (was, now []proof.PinnedKey, successions []string, said string) {
		was, _ = r.deskKeys()
		r.stop()
		said = r.good(append(append([]string{"keys", "rotate"}, config...), more...)...)
		r.start()
		now, successions = r.deskKeys()
		require.NotEqual(t, was, now)
		return was, now, successions, said
	}
	first, second, successions, said := rotate()
	require.Contains(t, said, "follow to this one by themselves")
	require.Len(t, successions, 1)
	_, third, successions, _ := rotate("--discard-old")
	require.Len(t, successions, 2)
	for _, pins := range [][]proof.PinnedKey{first, second, third} {
		got, err := proof.Follow(pins, successions)
		require.NoError(t, err)
		require.Equal(t, third, got)
	}

	thief, err := proof.NewSigner(r.desk.Store.Seed(), proof.Receipts) // whoever took the key that is now replaced
	require.NoError(t, err)
	stranger, err := proof.NewSigner([32]byte{9}, proof.Receipts)
	require.NoError(t, err)
	_, fourth, successions, said := rotate("--exposed")
	require.Contains(t, said, "renew each client file by hand")
	require.Empty(t, successions, "none leads to an exposed key, or away from it")
	kept, err := r.desk.Store.Retired(r.ctx())
	require.NoError(t, err)
	require.Contains(t, string(kept[1]), "succession")
	require.NotContains(t, string(kept[2]), "succession", "an exposed key signs nothing")
	for _, pins := range [][]proof.PinnedKey{first, second, third} {
		got, err := proof.Follow(pins, successions)
		require.NoError(t, err)
		require.Equal(t, pins, got)
	}
	forged, err := thief.Succeed("approvalbot", []proof.DeskKey{proof.DeskKeyOf(stranger.Public())}, time.Now())
	require.NoError(t, err)
	got, err := proof.Follow(fourth, []string{forged})
	require.NoError(t, err)
	require.Equal(t, fourth, got, "who was renewed does not follow the exposed key")

	_, fifth, successions, _ := rotate()
	got, err = proof.Follow(fourth, successions)
	require.NoError(t, err)
	require.Equal(t, fifth, got)
	got, err = proof.Follow(third, successions)
	require.NoError(t, err)
	require.Equal(t, third, got)
}

// over makes clients of the desk by another way than plain TCP.
func (r *rig) over(dial func(context.Context) (net.Conn, error)) func(secret string) *api.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	r.t.Cleanup(transport.CloseIdleConnections)
	return func(secret string) *api.Client {
		return &api.Client{Server: "http://localhost", Token: secret, HTTP: &http.Client{Transport: transport}}
	}
}

// By the Unix socket and by TLS with the pinned key the desk is what it is by plain TCP:
// whole calls, streams, the gateway; with a token.
func TestAdversary_T6_TheDeskBySocketAndByPinnedTLS(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "ab")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "desk.sock")
	r := newRig(t, func(r *rig) { r.tokens = "  socket: " + path + "\n" })
	keys, _ := r.deskKeys()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o600, info.Mode())
	key := r.pins(keys)[1]
	for name, dial := range map[string]func(context.Context) (net.Conn, error){
		"socket": func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) },
		"TLS": func(ctx context.Context) (net.Conn, error) {
			return (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
				require.True(t, key.Equal(s.PeerCertificates[0].PublicKey))
				return nil
			}}}).DialContext(ctx, "tcp", r.addr)
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := r.over(dial)
			_, err := client("wrong").TokenInfo(r.ctx())
			var p *api.Problem
			require.ErrorAs(t, err, &p)
			require.Equal(t, http.StatusUnauthorized, p.Status, "who reaches it still needs a token")
			a := r.exec("git push origin " + name)
			waited := make(chan error, 1)
			go func() {
				_, err := client(agentSecret).WaitFinal(r.ctx(), a.ID)
				waited <- err
			}()
			_, err = client(operatorSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
			require.NoError(t, err)
			require.NoError(t, <-waited)
			heard, done := context.WithCancel(r.ctx())
			_ = client(operatorSecret).Events(heard, "0", func(api.Event) error { done(); return nil })
			require.Error(t, heard.Err(), "an event came")
			conn, res, err := websocket.Dial(r.ctx(), "ws://localhost/v1/gateway", &websocket.DialOptions{HTTPClient: client("").HTTP})
			require.NoError(t, err)
			if res.Body != nil {
				_ = res.Body.Close()
			}
			_, first, err := conn.Read(r.ctx())
			require.NoError(t, err)
			require.Contains(t, string(first), "connect.challenge")
			require.NoError(t, conn.CloseNow())

			page, err := client("").HTTP.Get("http://localhost/signin")
			require.NoError(t, err)
			body, err := io.ReadAll(page.Body)
			require.NoError(t, err)
			require.NoError(t, page.Body.Close())
			if name == "socket" {
				require.Equal(t, http.StatusNotFound, page.StatusCode)
				require.Contains(t, string(body), "pages are at its address")
			}
		})
	}
	r.stop()
	require.NoFileExists(t, path)
}
