package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// crashPoints are the named moments at which the desk is killed with SIGKILL.
var crashPoints = []string{
	"create-committed", "delivery-claimed", "card-sent", "id-recorded", "update-stored", "update-confirmed",
	"vote-committed", "edit-sent", "outcome-told", "claim-committed", "result-committed", "retry-committed",
}

// faultyBinary builds the program with its crash points, once.
var faultyBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "approvalbot-faults-*")
	if err != nil {
		return "", err
	}
	leftovers = append(leftovers, dir)
	bin := filepath.Join(dir, "approvalbot")
	return bin, build(bin)
})

// build builds the program with its crash points. All of it but what a flag or an overlay changes
// comes from the cache of one and the same build, and of go test without -race.
func build(bin string, flags ...string) error {
	args := append([]string{"build", "-tags", "faults", "-o", bin, "-ldflags", "-s -w"}, flags...)
	out, err := exec.Command("go", append(args, ".")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// crashRig is the real program in a process of its own, with a fake Telegram.
type crashRig struct {
	*rig
	bin     string
	session *fakechat.TelegramChat
	cmd     *exec.Cmd
	gone    chan struct{}
	killed  int
}

// TestAdversary_P2_KilledAtEveryPoint: after a kill at each point and a restart,
// the approval ends in exactly one state, no vote is lost, cards work again, and
// at most one card too many stands in the chat.
func TestAdversary_P2_KilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	bin, err := faultyBinary()
	require.NoError(t, err)
	for _, point := range crashPoints {
		for _, when := range []string{"before-", "after-"} {
			t.Run(when+point, func(t *testing.T) {
				c := newCrashRig(t, bin)
				c.run(when + point)
				c.scenario()
				c.mustHaveDied(when + point)
			})
		}
	}
}

// TestAdversary_P2_KilledWithATapThatWaited: a tap that was made while no desk ran
// is stored before it is handled, unlike others. It counts, wherever the desk dies
// next.
func TestAdversary_P2_KilledWithATapThatWaited(t *testing.T) {
	t.Parallel()
	bin, err := faultyBinary()
	require.NoError(t, err)
	for _, point := range []string{"before-update-stored", "after-update-stored", "before-update-confirmed", "before-vote-committed", "after-vote-committed"} {
		t.Run(point, func(t *testing.T) {
			c := newCrashRig(t, bin)
			c.run("")
			var a api.Approval
			c.until("create", func(ctx context.Context) (err error) {
				a, err = c.agent().Create(ctx, api.CreateRequest{ID: "job-1", ToolName: "deploy", Params: []byte(`{"n":1}`)}, api.CreateOptions{})
				return err
			})
			var card fakechat.TelegramMessage
			c.until("card", func(ctx context.Context) (err error) {
				card, err = c.group.WaitMessage(ctx, func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, a.Code) && len(m.Buttons) > 0 })
				return err
			})
			require.NoError(t, c.cmd.Process.Kill())
			<-c.gone
			c.alice.Tap(c.group, card.ID, "Allow once")
			c.run(point)
			c.until("vote", func(ctx context.Context) error {
				got, err := c.operator().Get(ctx, a.Code, 4*time.Second)
				if err != nil {
					return err
				}
				if a = got; a.Status == "pending" {
					return errors.New("still pending")
				}
				return nil
			})
			require.EqualValues(t, "approved", a.Status)
			require.Len(t, a.Votes, 1)
			c.until("the end on the card", func(ctx context.Context) error {
				return c.tg.WaitFor(ctx, func() bool {
					now, _ := c.group.Message(card.ID)
					return !decides(now.Labels()) && strings.Contains(now.Text, "Allowed once by alice")
				})
			})
			c.mustHaveDied(point)
		})
	}
}

func newCrashRig(t *testing.T, bin string) *crashRig {
	r := &rig{t: t, dir: t.TempDir(), addr: ownAddr(t), logs: &safeBuffer{}}
	r.tg = fakechat.NewTelegram(t, fakechat.TelegramOptions{})
	r.alice, r.bob = r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"}), r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Bob"})
	r.carol = r.bob
	r.people = fmt.Sprintf("  - {name: alice, telegram: %d}\n  - {name: bob, telegram: %d}\n", r.alice.ID, r.bob.ID)
	r.group = r.tg.AddSupergroup("ops", r.alice, r.bob)
	r.routing, r.agentHas = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}]}`, `, sessionChats: ["telegram:-1009999"]`
	r.url = "http://" + r.addr
	c := &crashRig{rig: r, bin: bin}
	c.session = r.tg.AddChat(fakechat.TelegramChatSpec{Type: fakechat.TelegramSupergroup, ID: -1009999, Title: "session"})
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.gone
		if t.Failed() {
			t.Log(r.logs.String())
		}
	})
	return c
}

// run starts the program; when it dies by itself it is started again without
// the fault.
func (c *crashRig) run(fault string) {
	file := filepath.Join(c.dir, "approvalbot.yaml")
	require.NoError(c.t, os.WriteFile(file, []byte(strings.Replace(c.yaml(), "127.0.0.1:0", c.addr, 1)), 0o600))
	c.cmd = exec.Command(c.bin, "serve", "--config", file)
	c.cmd.Env = append(os.Environ(), "APPROVALBOT_FAULT="+fault)
	c.cmd.Stderr, c.cmd.Stdout = c.logs, c.logs
	require.NoError(c.t, c.cmd.Start())
	gone := make(chan struct{})
	c.gone = gone
	cmd := c.cmd
	go func() {
		_ = cmd.Wait()
		close(gone)
	}()
	ctx := c.ctx()
	for {
		if c.dead() {
			c.revive()
			return
		}
		resp, err := http.Get(c.url + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			require.Fail(c.t, "the desk never became ready")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *crashRig) dead() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// revive starts the program again after the kill.
func (c *crashRig) revive() {
	require.Zero(c.t, c.killed, "it died twice: %s", c.logs.String())
	c.killed++
	c.run("")
}

// mustHaveDied requires that the desk came by the point. What follows a commit
// may be done, and seen, just before the one who made it comes by.
func (c *crashRig) mustHaveDied(point string) {
	c.t.Helper()
	if c.killed > 0 {
		return
	}
	select {
	case <-c.gone:
		c.revive()
	case <-c.ctx().Done():
		require.Fail(c.t, "the desk never came by "+point)
	}
}

// until does something over and over until it succeeds, reviving the desk when
// it has died meanwhile.
func (c *crashRig) until(what string, try func(context.Context) error) {
	c.t.Helper()
	bound := c.ctx()
	for {
		ctx, cancel := context.WithTimeout(bound, 5*time.Second)
		stop, gone := make(chan struct{}), c.gone
		go func() { // a dead desk answers nobody: do not wait for it
			select {
			case <-gone:
				cancel()
			case <-stop:
			}
		}()
		err := try(ctx)
		close(stop)
		cancel()
		if err == nil {
			return
		}
		if c.dead() {
			c.revive()
			continue
		}
		var p *api.Problem
		if errors.As(err, &p) && p.Status < 500 {
			require.NoError(c.t, err, what)
		}
		require.NoError(c.t, bound.Err(), "%s: %v", what, err)
	}
}

// scenario takes one approval from the question to the result, each step tried
// again where the desk died in it.
func (c *crashRig) scenario() {
	t := c.t
	var a api.Approval
	req := api.CreateRequest{ID: "job-1", ToolName: "deploy", Params: []byte(`{"n":1}`), Origin: &api.Target{Channel: "telegram", To: "-1009999"}}
	c.until("create", func(ctx context.Context) (err error) {
		a, err = c.agent().Create(ctx, req, api.CreateOptions{})
		return err
	})
	var card fakechat.TelegramMessage
	c.until("card", func(ctx context.Context) (err error) {
		card, err = c.group.WaitMessage(ctx, func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, a.Code) && len(m.Buttons) > 0 })
		return err
	})
	tap := c.alice.Tap(c.group, card.ID, "Allow once")
	c.until("vote", func(ctx context.Context) error {
		// The tap is made once. Whatever dies meanwhile, it counts.
		got, err := c.operator().Get(ctx, a.Code, 4*time.Second)
		if err != nil {
			return err
		}
		if a = got; a.Status == "pending" {
			return errors.New("still pending")
		}
		return nil
	})
	require.EqualValues(t, "approved", a.Status)
	if answer, ok := tap.Answered(); ok {
		require.Contains(t, answer.Text, "llowed")
	}
	c.until("outcome", func(ctx context.Context) error {
		_, err := c.session.WaitMessage(ctx, func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, "allowed once by alice") })
		return err
	})
	c.execution("failed")
	c.until("retry", func(ctx context.Context) error {
		_, err := c.operator().Retry(ctx, a.Code)
		return err
	})
	c.execution("succeeded")
	// A further update makes the poll return that confirmed the tap.
	c.bob.Say(c.group, "/whoami@approval_test_bot")
	c.until("whoami", func(ctx context.Context) error {
		_, err := c.group.WaitMessage(ctx, func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, "You are a telegram user") })
		return err
	})
	c.allCopiesEnd(a)
}

// execution claims the call once more, and reports how it went.
func (c *crashRig) execution(status string) {
	t := c.t
	var claim api.Claim
	c.until("claim", func(ctx context.Context) (err error) {
		claim, err = c.agent().Claim(ctx, "job-1", api.ClaimRequest{ClaimID: "run-" + status})
		return err
	})
	require.JSONEq(t, `{"n":1}`, string(claim.Params))
	c.until("result", func(ctx context.Context) error {
		_, err := c.agent().Result(ctx, "job-1", api.ResultRequest{Status: status})
		return err
	})
	c.until("result told", func(ctx context.Context) error {
		_, err := c.session.WaitMessage(ctx, func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, status) })
		return err
	})
}

// allCopiesEnd checks every card: known copies show the end by themselves; one
// whose id was lost does after its first tap.
func (c *crashRig) allCopiesEnd(a api.Approval) {
	t := c.t
	cards := 0
	for _, m := range c.group.FromBot() {
		if !strings.Contains(m.Text, a.Code) {
			continue
		}
		cards++
		c.until("look", func(ctx context.Context) (err error) {
			a, err = c.operator().Get(ctx, a.Code, 0)
			return err
		})
		if !slices.ContainsFunc(a.Deliveries, func(d api.Delivery) bool { return d.MessageID == fmt.Sprint(m.ID) }) {
			c.until("tap on the lost copy", func(ctx context.Context) error {
				answer, err := c.bob.TapData(c.group, m.ID, "/approve "+a.Code).Answer(ctx)
				if err == nil {
					require.Contains(t, answer.Text, "Already decided: allowed once by alice")
				}
				return err
			})
		}
		c.until("the end of a card", func(ctx context.Context) error {
			return c.tg.WaitFor(ctx, func() bool {
				now, _ := c.group.Message(m.ID)
				return len(now.Buttons) == 0 && strings.Contains(now.Text, "Allowed once by alice") && strings.Contains(now.Text, "succeeded")
			})
		})
	}
	require.LessOrEqual(t, cards, 2, "at most one card too many")
	told := 0
	for _, m := range c.session.FromBot() {
		if strings.Contains(m.Text, "allowed once by alice") {
			told++
		}
	}
	require.LessOrEqual(t, told, 2)
}

// The same on Discord. It keeps no tap for a bot that is away, so a tap that was
// lost in the crash is made again; but the nonce keeps it at one card, always.
func TestAdversary_P2_KilledAtEveryPointOnDiscord(t *testing.T) {
	bin, err := faultyBinary()
	require.NoError(t, err)
	for _, point := range []string{
		"create-committed", "delivery-claimed", "card-sent", "id-recorded", "update-stored", "vote-committed", "edit-sent", "claim-committed", "result-committed",
	} {
		for _, when := range []string{"before-", "after-"} {
			t.Run(when+point, func(t *testing.T) {
				t.Parallel()
				c := newCrashRig(t, bin)
				c.addDiscord()
				c.people = fmt.Sprintf("  - {name: alice, discord: %q}\n  - {name: bob, discord: %q}\n", c.accounts["alice"].ID, c.accounts["bob"].ID)
				c.routing = `{mode: targets, targets: [{channel: discord, to: "OPS"}]}`
				c.run(when + point)
				c.discordScenario()
				c.mustHaveDied(when + point)
			})
		}
	}
}

func (c *crashRig) discordScenario() {
	t := c.t
	var a api.Approval
	c.until("create", func(ctx context.Context) (err error) {
		a, err = c.agent().Create(ctx, api.CreateRequest{ID: "job-1", ToolName: "deploy", Params: []byte(`{"n":1}`)}, api.CreateOptions{})
		return err
	})
	var card fakechat.DiscordMessage
	c.until("card", func(ctx context.Context) (err error) {
		card, err = c.ops.WaitMessage(ctx, func(m fakechat.DiscordMessage) bool { return strings.Contains(m.Text(), a.Code) && len(m.Labels()) > 0 })
		return err
	})
	c.until("vote", func(ctx context.Context) error {
		got, err := c.operator().Get(ctx, a.Code, 0)
		if err != nil {
			return err
		}
		if a = got; a.Status == "approved" {
			return nil
		}
		if err := c.dc.Gateway().WaitReady(ctx); err != nil {
			return err
		}
		// By its data: the card may have ended since the look at it.
		if _, err := c.accounts["alice"].ClickData(c.ops, card.ID, "/approve "+a.Code).Response(ctx); err != nil {
			return err
		}
		return errors.New("look again")
	})
	require.Equal(t, []string{"person:alice"}, a.DecidedBy)
	require.Len(t, a.Votes, 1)
	c.until("claim", func(ctx context.Context) (err error) {
		_, err = c.agent().Claim(ctx, "job-1", api.ClaimRequest{ClaimID: "mine"})
		return err
	})
	c.until("result", func(ctx context.Context) error {
		_, err := c.agent().Result(ctx, "job-1", api.ResultRequest{Status: "succeeded"})
		return err
	})
	c.until("the end on the card", func(ctx context.Context) error {
		return c.dc.WaitFor(ctx, func() bool {
			m, _ := c.ops.Message(card.ID)
			return len(m.Labels()) == 0 && strings.Contains(m.Text(), "Allowed once by alice") && strings.Contains(m.Text(), "succeeded")
		})
	})
	require.Len(t, c.ops.FromBot(), 1, "the nonce keeps one card")
}
