package api_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"

	"approvalbot/api"
)

// Ask, wait, claim, run, report: the whole life of a call.
func Example() {
	desk := openDesk()
	defer desk.stop()
	desk.decideNext(api.AllowOnce) // a person, somewhere else

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client := &api.Client{Server: desk.URL, Token: "agent-secret", HTTP: desk.Client()}

	// Ask. With an id of your own the same request may be sent again when an
	// answer was lost.
	asked, err := client.Create(ctx, api.CreateRequest{
		ID: "nightly-42", ToolName: "deploy", Params: json.RawMessage(`{"to":"staging"}`),
		AgentID: "deployer", SessionKey: "nightly", Justification: "the tests are green",
	}, api.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}

	// Wait, and say so. This rides over a desk that restarts. Once nobody waits any
	// more, nobody is to be asked.
	fmt.Fprintf(os.Stderr, "waiting for approval %s; Ctrl-C withdraws it\n", asked.Code)
	ended, err := client.WaitFinal(ctx, asked.ID)
	if ctx.Err() != nil {
		_, err = client.Withdraw(context.WithoutCancel(ctx), asked.ID, api.WithdrawRequest{Reason: "interrupted"})
		log.Fatal("interrupted; withdrawn, unless an error follows: ", err)
	}
	if err != nil {
		log.Fatal(err)
	}
	if ended.Status != api.Approved {
		fmt.Println("not run:", ended.Status, ended.Reason)
		return
	}
	fmt.Println("approved by", ended.DecidedBy[0], "-", ended.Reason)

	// Claim, right before it runs. Only what the claim says may run.
	claim, err := client.Claim(ctx, ended.ID, api.ClaimRequest{ClaimID: rand.Text()})
	if err != nil {
		log.Fatal(err)
	}
	var params struct{ To string }
	if err := json.Unmarshal(claim.Params, &params); err != nil {
		log.Fatal(err)
	}
	fmt.Println("deploying to", params.To)

	// Report.
	reported, err := client.Result(ctx, ended.ID, api.ResultRequest{Status: "succeeded", Summary: "3 machines"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("reported:", reported.Result.Status)
	// Output:
	// approved by person:alice - go ahead
	// deploying to staging
	// reported: succeeded
}

// Decide, as the person of an operator's token.
func ExampleClient_Resolve() {
	desk := openDesk()
	defer desk.stop()
	ctx := context.Background()
	_, err := desk.agent.Create(ctx, api.CreateRequest{ToolName: "deploy", Params: json.RawMessage(`{"to":"production"}`)}, api.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}

	alice := &api.Client{Server: desk.URL, Token: "alice-secret", HTTP: desk.Client()}
	waiting, err := alice.List(ctx, api.Filter{Status: api.Pending})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range waiting.Items {
		fmt.Println(a.ToolName, "·", a.ParamsSummary, "·", a.RiskClass, a.Offers)
		a, err = alice.Resolve(ctx, a.Code, api.ResolveRequest{Decision: api.Deny, Reason: "not on a Friday"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a.Status, "·", a.Reason)

		_, err = alice.Resolve(ctx, a.Code, api.ResolveRequest{Decision: api.AllowOnce})
		var refused *api.Problem
		if errors.As(err, &refused) {
			fmt.Println(refused.Code)
		}
	}
	// Output:
	// deploy · to: production · R3 [allow-once allow-always deny]
	// denied · not on a Friday
	// already_resolved
}

// Listen to what happens, and go on after a pause where it was.
func ExampleClient_Events() {
	desk := openDesk()
	defer desk.stop()
	ctx := context.Background()
	for _, to := range []string{"staging", "production"} {
		a, err := desk.agent.Create(ctx, api.CreateRequest{ToolName: "deploy", Params: json.RawMessage(`{"to":"` + to + `"}`)}, api.CreateOptions{})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := desk.alice.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.Deny, Reason: "no " + to}); err != nil {
			log.Fatal(err)
		}
	}

	pause := errors.New("enough for now")
	last := "0" // the start of the log; keep it where it survives
	listen := func() {
		err := desk.agent.Events(ctx, last, func(e api.Event) error {
			last = strconv.FormatInt(e.Seq, 10)
			if !e.Status.Final() {
				return nil
			}
			fmt.Println(e.Type, e.Status, "·", e.Reason)
			return pause
		})
		fmt.Println(err)
	}
	listen()
	listen()
	// Output:
	// tool.approval.resolved denied · no staging
	// enough for now
	// tool.approval.resolved denied · no production
	// enough for now
}
