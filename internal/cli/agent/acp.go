package agent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/hook/acp"
	"approvalbot/internal/hook/ask"
)

// agentGrace is how long an agent may take to end once its input is closed.
const agentGrace = 5 * time.Second

func newACPCommand(a *app.App) *cobra.Command {
	var f hookFlags
	cmd := &cobra.Command{
		Use:   "acp [flags] -- AGENT [ARG...]",
		Short: "Relay between an editor and an ACP agent, and have the desk answer its questions",
		Long: "Relay between an editor and an agent that speaks the Agent Client Protocol, and have the desk answer\n" +
			"session/request_permission: with the first option to allow it once, never one to allow it always, else a refusal.\n" +
			"The editor does not see these questions; all else passes as it is. What the agent does without asking is not\n" +
			"seen: choose its mode so that it asks. Of the desk's flags only these count: --server, and --client or\n" +
			"--token-file with an absolute path.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, argv []string) error { return serveACP(cmd.Context(), a, f, argv) },
	}
	f.add(cmd)
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func serveACP(ctx context.Context, a *app.App, f hookFlags, argv []string) error {
	client, err := streamClient(a, f)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	cmd.Env, cmd.Stderr = outerEnviron(a), a.Stderr
	agent := acp.Streams{}
	if agent.To, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if agent.From, err = cmd.StdoutPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the agent could not be started: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	context.AfterFunc(ctx, func() { endProcess(cmd, ended) })
	r := acp.Relay{Desk: ask.Approvals{Client: client}, Workdir: currentDir(), Log: func(text string) {
		fmt.Fprintf(a.Stderr, "approvalbot: %s\n", app.Sentence(errors.New(text)))
	}}
	err = r.Run(ctx, acp.Streams{From: a.Stdin, To: notClosed{a.Stdout}}, agent)
	go endProcess(cmd, ended) // it writes no more lines
	code, _ := app.ChildStatus(cmd, cmd.Wait())
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("the agent's messages cannot be read: %w", err)
	case code != 0:
		return app.ExitCode(code)
	}
	return nil
}

// endProcess ends a process that does not end by itself when its input is closed.
func endProcess(cmd *exec.Cmd, ended <-chan struct{}) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-ended:
			return
		case <-time.After(agentGrace):
			_ = cmd.Process.Signal(s) // it may have ended by now
		}
	}
}
