package api_test

import (
	"cmp"
	"context"
	"errors"
	"log"
	"net/http/httptest"
	"sync"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/policy"
	"approvalbot/internal/server"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/events"
	"approvalbot/internal/store"
)

// exampleDesk is a desk in this process, without chats: the real store, policy,
// Gate and API. One token asks, another one is alice's.
type exampleDesk struct {
	*httptest.Server
	agent, alice *api.Client
	stop         func()
}

// errDecided ends a stream of events.
var errDecided = errors.New("decided")

// noChats is a desk without cards: people decide over the API.
type noChats struct{}

func (noChats) Route(approval.Approval) core.Routes { return core.Routes{} }
func (noChats) Names(approval.Target) bool          { return false }

func openDesk() *exampleDesk {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	st, err := store.Open(context.Background(), store.Options{URL: "sqlite::memory:"})
	must(err)
	rules, err := policy.New(policy.Config{Enabled: true})
	must(err)
	people, err := people.NewDirectory(people.Rights{People: []people.Person{{Name: "alice"}}, Tokens: map[string]string{"alice-laptop": "alice"}})
	must(err)
	feed := events.NewFeed(st, nil)
	gate := core.NewGate(st.CoreStores(), core.Rules{Enabled: true, Policy: rules, People: people, Router: noChats{}, TimeoutMs: 60_000, MaxTimeoutMs: 60_000}, nil, feed.Notify)
	srv, err := server.New(server.Config{Gate: gate, Feed: feed, Tokens: []auth.Token{
		{Name: "agent", Hash: auth.Hash("agent-secret"), Caller: core.Caller{MayRequest: true}},
		{Name: "alice-laptop", Hash: auth.Hash("alice-secret"), Caller: core.Caller{MayDecide: true, Person: "alice"}},
	}})
	must(err)
	d := &exampleDesk{Server: httptest.NewServer(srv.Handler())}
	d.agent = &api.Client{Server: d.URL, Token: "agent-secret", HTTP: d.Client()}
	d.alice = &api.Client{Server: d.URL, Token: "alice-secret", HTTP: d.Client()}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = st.Run(ctx) })
	running.Go(func() { _ = feed.Run(ctx) })
	d.stop = func() {
		srv.EndWaits()
		d.Close()
		cancel()
		_ = st.Close()
		running.Wait()
	}
	return d
}

// decideNext has alice decide the next request that she hears of.
func (d *exampleDesk) decideNext(what api.Decision) {
	ctx := context.Background()
	go d.alice.Events(ctx, "0", func(e api.Event) error {
		_, err := d.alice.Resolve(ctx, e.ID, api.ResolveRequest{Decision: what, Reason: "go ahead"})
		return cmp.Or(err, errDecided)
	})
}
