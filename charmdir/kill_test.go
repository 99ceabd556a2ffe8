package charmdir

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/unitd/unitd/durable"
)

// TestMain is the process that TestSIGKILL kills, if the environment says so:
// it deploys two charms in turn, for ever, and says each step before it.
func TestMain(m *testing.M) {
	dir := os.Getenv("CHARMDIR_TEST_DEPLOY")
	if dir == "" {
		os.Exit(m.Run())
	}
	d := NewDeployer(durable.Disk{}, dir)
	d.before = func(step string) error {
		_, err := fmt.Println(step)
		return err
	}
	if os.Getenv("CHARMDIR_TEST_TWO_STEPS") != "" {
		d.exchange = func(_, _ string) (bool, error) { return false, nil }
	}
	for {
		for _, url := range []string{newURL, oldURL} {
			if err := d.Deploy(context.Background(), os.Getenv(url), url); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
}

// TestSIGKILL kills a process that deploys, after each number of its steps in
// turn: the kill comes while the process goes on, so anywhere in a step.
func TestSIGKILL(t *testing.T) {
	t.Parallel()
	from := archives(t)
	for _, exchanges := range []bool{true, false} {
		t.Run(fmt.Sprintf("in one step %v", exchanges), func(t *testing.T) {
			t.Parallel()
			d := NewDeployer(durable.Disk{}, t.TempDir())
			must(t, d.Deploy(t.Context(), from[oldURL], oldURL))
			hook := files{".unit-state.db": "state", "deep/er/made*": "hook"}
			hook.write(t, d.Path())
			trees := map[string]files{oldURL: {}, newURL: {}}
			for _, url := range []string{newURL, oldURL} {
				must(t, d.Deploy(t.Context(), from[url], url))
				trees[url] = look(t, d.Path())
			}
			ends := map[string]int{}
			for n := 1; n <= 80 && !t.Failed(); n++ {
				killAfter(t, d.dir, from, exchanges, n)
				if exchanges {
					checkWhole(t, d, trees, n)
				}
				must(t, d.Recover())
				ends[checkWhole(t, d, trees, n)]++
			}
			if ends[oldURL] == 0 || ends[newURL] == 0 {
				t.Errorf("the deployments ended with %v", ends)
			}
		})
	}
}

func checkWhole(t *testing.T, d *Deployer, trees map[string]files, n int) string {
	t.Helper()
	url, err := d.Deployed()
	must(t, err)
	got := look(t, d.Path())
	if want := trees[url]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("killed after step %d: charm %q with the tree\n%q, not\n%q", n, url, got, want)
	}
	return url
}

// killAfter runs a process that deploys, and kills it when it has said n steps.
func killAfter(t *testing.T, dir string, from map[string]string, exchanges bool, n int) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CHARMDIR_TEST_DEPLOY="+dir, oldURL+"="+from[oldURL], newURL+"="+from[newURL])
	if !exchanges {
		cmd.Env = append(cmd.Env, "CHARMDIR_TEST_TWO_STEPS=1")
	}
	cmd.Stderr = os.Stderr
	steps, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(steps)
	for range n {
		if !lines.Scan() {
			t.Errorf("the process ended by itself: %v", lines.Err())
			break
		}
	}
	must(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, steps)
	_ = cmd.Wait() // "killed"
}
