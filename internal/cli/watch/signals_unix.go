//go:build unix

package watch

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// obeySignals puts the terminal back before the program is stopped, and into raw mode again when it
// goes on. SIGHUP and SIGQUIT end it as Ctrl-C does; SIGINT and SIGTERM end the context already.
func (k *keyboard) obeySignals(ctx context.Context) {
	came := make(chan os.Signal, 4)
	signal.Notify(came, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		defer k.guard()
		defer signal.Stop(came)
		for {
			select {
			case s := <-came:
				k.obey(s)
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (k *keyboard) obey(s os.Signal) {
	switch s {
	case syscall.SIGTSTP:
		k.restore()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case syscall.SIGCONT:
		k.raw() // the shell may have set another mode meanwhile
		select {
		case k.resumed <- struct{}{}:
		default:
		}
	default:
		k.end()
	}
}

// suspend does what Ctrl-Z does: it stops all programs of this terminal's foreground.
func suspend() { _ = syscall.Kill(0, syscall.SIGTSTP) }
