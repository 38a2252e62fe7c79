package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Turns of one round, so that a round takes some seconds.
const confinedTurns = 20

// confined measures how much longer a command takes that runs confined, in workspaces of two sizes that are repositories and have
// two secrets. As root it measures an ordinary user, as root is not confined.
func confined(b bench) error {
	dir, err := os.MkdirTemp("", "approvalbot-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var user []string
	if os.Geteuid() == 0 {
		user = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			return err
		}
	}
	command := func(at string, words ...string) *exec.Cmd {
		words = append(slices.Clone(user), words...)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = at, []string{"HOME=" + dir, "PATH=/usr/bin:/bin"}
		return cmd
	}
	programs := []string{filepath.Join(dir, "approvalbot"), filepath.Join(dir, "approvalbot-hook")}
	for _, program := range programs { // those of this user may lie where no other user looks
		text, err := os.ReadFile(filepath.Join(filepath.Dir(b.bin), filepath.Base(program)))
		if err != nil {
			return err
		}
		if err := os.WriteFile(program, text, 0o755); err != nil {
			return err
		}
	}
	s := series{}
	for _, size := range []int{2000, 30_000} {
		at := filepath.Join(dir, strconv.Itoa(size))
		if out, err := command(dir, "sh", "-ec", confinedWorkspace, "sh", at, strconv.Itoa(size)).CombinedOutput(); err != nil {
			return fmt.Errorf("make a workspace: %w: %s", err, out)
		}
		for range b.rounds {
			plain, err := usual(func() *exec.Cmd { return command(at, "true") })
			if err != nil {
				return err
			}
			for _, program := range programs {
				took, err := usual(func() *exec.Cmd { return command(at, program, "confine", "--", "true") })
				if err != nil {
					fmt.Printf("  not measured: %v\n", err)
					return nil
				}
				s.add(confinedFigure(program, size), took-plain)
			}
		}
		for _, program := range programs {
			s.atMost(confinedFigure(program, size), "ms", map[int]float64{2000: 25, 30_000: 50}[size])
		}
	}
	return nil
}

// confinedWorkspace makes a repository with $2 files, and two secrets that it does not have.
const confinedWorkspace = `mkdir "$1"; cd "$1"; i=0
while [ $i -lt "$2" ]; do d=pkg$((i/40)); mkdir -p $d; while [ $((i/40)) = ${d#pkg} ]; do echo "package p$i" >$d/f$i.go; i=$((i+1)); done; done
git init -q .; git add -A; git -c user.name=x -c user.email=x@example.org commit -qm x; mkdir certs; echo x >.env; echo x >certs/server.pem`

func confinedFigure(program string, files int) string {
	return fmt.Sprintf("%s confine -- true, above true: %d files", filepath.Base(program), files)
}

// usual is how many ms a command takes, the median of some turns.
func usual(command func() *exec.Cmd) (float64, error) {
	var all []float64
	for range confinedTurns {
		cmd, said := command(), bytes.Buffer{}
		cmd.Stderr = &said
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return 0, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
		}
		all = append(all, ms(time.Since(began)))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}
