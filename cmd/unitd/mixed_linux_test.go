package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"

	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// pairCharm has two units that say in their status what the other one has written, and what
// the secret of their leader is.
var pairCharm = map[string]string{
	"metadata.yaml": "name: pair\npeers: {ring: {interface: ring}}\n",
	"config.yaml":   "options: {n: {type: int, default: 0}}\n",
	"actions.yaml":  "ask: {}\n",
	"actions/ask":   "#!/bin/sh\naction-set is=\"$JUJU_UNIT_NAME\"\n",
	"hooks/config-changed": `#!/bin/sh
set -e
ring=$(relation-ids ring)
relation-set -r "$ring" n="$(config-get n)"
if [ "$(is-leader)" = True ] && [ -z "$(state-get uri)" ]
then uri=$(secret-add token=opens)
	state-set uri="$uri"
	relation-set --app -r "$ring" uri="$uri"
fi
`,
	"hooks/ring-relation-changed": `#!/bin/sh
set -e
uri=$(relation-get --app uri pair)
[ -n "$uri" ] && [ -n "$JUJU_REMOTE_UNIT" ] || exit 0
status-set active "sees $(relation-get n "$JUJU_REMOTE_UNIT") and $(secret-get "$uri" token)"
`,
}

// mixedHost is a host of a model whose agent is of some build.
type mixedHost struct {
	t       *testing.T
	program string
	dir     string
	env     []string
	agent   *exec.Cmd
}

func newMixedHost(t *testing.T, program string, env ...string) *mixedHost {
	t.Helper()
	h := &mixedHost{t: t, program: program, dir: t.TempDir()}
	h.env = append(os.Environ(), append([]string{"UNITD_STORE="}, append(env, "UNITD_DATA="+filepath.Join(h.dir, "data"), "UNITD_ISOLATE=off")...)...)
	if err := os.Mkdir(filepath.Join(h.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

// run starts the agent, which ends with the test, and waits until it works.
func (h *mixedHost) run(args ...string) {
	h.t.Helper()
	h.agent = exec.Command(h.program, append([]string{"agent"}, args...)...)
	h.agent.Env = h.env
	says, err := h.agent.StderrPipe()
	if err == nil {
		err = h.agent.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	runs, over := make(chan bool, 2), make(chan struct{}) // it says so again when it was upgraded
	var said strings.Builder
	go func() {
		defer close(over)
		for lines := bufio.NewScanner(says); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "the agent runs") {
				runs <- true
			}
		}
		close(runs)
	}()
	h.t.Cleanup(func() {
		end := exec.Command(h.program, "shutdown") // whichever process it is
		end.Env = h.env
		_ = end.Run()
		_ = h.agent.Process.Signal(syscall.SIGTERM)
		<-over
		_ = h.agent.Wait()
		if h.t.Failed() {
			h.t.Logf("the agent of %s: %s", h.program, said.String())
		}
	})
	if !<-runs {
		h.t.Fatalf("the agent of %s has ended", h.program)
	}
}

// by has a build of unitd do something on the host, and returns its standard output.
func (h *mixedHost) by(program string, args ...string) string {
	h.t.Helper()
	cmd := exec.Command(program, args...)
	var errs bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stderr = h.env, h.dir, &errs
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%s %q: %v: %s%s", program, args, err, out, errs.Bytes())
	}
	return string(out)
}

// must is by its own build.
func (h *mixedHost) must(args ...string) string {
	h.t.Helper()
	return h.by(h.program, args...)
}

// see has the units see a value of each other, whichever host sets it.
func (h *mixedHost) see(n int, all ...*mixedHost) {
	h.t.Helper()
	h.must("config", "pair", fmt.Sprintf("n=%d", n))
	want := fmt.Sprintf("sees %d and opens", n)
	for _, of := range all {
		of.must("wait", "--timeout", "300s")
		var status struct {
			Applications map[string]struct {
				Units map[string]struct {
					Workload struct{ Message string } `json:"workload-status"`
				}
			}
		}
		if err := json.Unmarshal([]byte(of.must("status", "--format", "json")), &status); err != nil {
			h.t.Fatal(err)
		}
		units := status.Applications["pair"].Units
		for _, u := range []string{"pair/0", "pair/1"} {
			if got := units[u].Workload.Message; got != want {
				h.t.Errorf("with n=%d %s says in the status of %s that %s %q", n, u, of.program, u, got)
			}
		}
	}
}

// TestHostHostsOfDifferentBuildsShareAModel: one host has this program, another one that of
// the first commit that hands over, whose store has the same format. Their units follow each
// other's databags and read the same secret, their commands see both; and the former one is
// upgraded under it all. Source: docs/upgrades.md.
func TestHostHostsOfDifferentBuildsShareAModel(t *testing.T) {
	t.Parallel()
	former := filepath.Join(builtAt(t, firstHandingOver), "unitd")
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	present := filepath.Join(bin, "unitd")
	for what, of := range map[string]struct {
		has, joins string
		etcd       bool
	}{
		"the former one joins":                   {present, former, false},
		"the former one has the models":          {former, present, false},
		"the former one joins on etcd":           {present, former, true},
		"the former one has the models, on etcd": {former, present, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var env, join []string
			if of.etcd {
				// The former one isn't given the key when it joins.
				key, err := age.GenerateX25519Identity()
				if err != nil {
					t.Fatal(err)
				}
				env = []string{"UNITD_STORE=etcd://" + etcdtest.Start(t).Endpoint + "/unitd", "UNITD_SECRET_KEY=" + key.String()}
			}
			first, second := newMixedHost(t, of.has, env...), newMixedHost(t, of.joins, env...)
			if !of.etcd {
				join = []string{"--store", filepath.Join(first.dir, "data", "store.db")}
			}
			mixed(t, first, second, join, former, present)
		})
	}
}

func mixed(t *testing.T, first, second *mixedHost, join []string, former, present string) {
	for name, text := range pairCharm {
		path := filepath.Join(first.dir, "pair", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	first.run()
	first.must("deploy", "./pair")
	first.must("wait", "--timeout", "300s")
	token := filepath.Join(second.dir, "token")
	if err := os.WriteFile(token, []byte(first.must("add-machine")), 0o600); err != nil {
		t.Fatal(err)
	}
	second.run(append(join, "--join", "@"+token)...)
	first.must("add-unit", "pair", "--to", "1")
	first.see(1, first, second)
	second.see(2, first, second)
	for _, h := range []*mixedHost{first, second} {
		for _, unit := range []string{"pair/0", "pair/1"} {
			if out := h.must("run", unit, "ask", "--format", "json"); !strings.Contains(out, `"is":"`+unit+`"`) {
				t.Errorf("of the action it says %s", out)
			}
		}
	}
	for _, h := range []*mixedHost{first, second} {
		if h.program == former {
			h.by(present, "agent", "--upgrade")
			h.program = present
			lock, err := os.ReadFile(filepath.Join(h.dir, "data", "agent.lock"))
			if err != nil || strings.TrimSpace(string(lock)) != strconv.Itoa(h.agent.Process.Pid) {
				t.Errorf("the agent is process %s (%v), not %d", lock, err, h.agent.Process.Pid)
			}
		}
	}
	first.see(3, first, second)
	second.see(4, first, second)
	first.must("remove-unit", "pair/1", "--no-prompt")
	first.must("wait", "--timeout", "300s")
	if out := second.must("status", "--format", "json"); strings.Contains(out, "pair/1") {
		t.Errorf("it is still there: %s", out)
	}
}
