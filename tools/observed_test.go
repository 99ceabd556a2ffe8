package tools

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/tools/wire"
)

// observation is one run of one of the original's tools, with exact bytes.
type observation struct {
	Seq     int      `json:"seq"`
	Context string   `json:"context"`
	Argv    []string `json:"argv"`
	Stdin   string   `json:"stdin"`
	Code    int      `json:"rc"`
	Stdout  string   `json:"stdout"`
	Stderr  string   `json:"stderr"`
}

// deviation is what we do instead, and why.
type deviation struct {
	why            string
	code           int
	stdout, stderr string
}

// deviations are where we differ from the original on purpose, by seq.
func deviations() map[int]deviation {
	return map[int]deviation{
		183: {
			why:  "an endpoint that the charm hasn't is refused at the call, not at the commit",
			code: 1, stderr: "ERROR endpoint \"a\" not found\n",
		},
		365: {
			why:    "close-port 80, which ran before, has closed it; the recording's stub didn't",
			stdout: "icmp\n0/tcp\n443/tcp\n8000-8100/tcp\n53/udp\n",
		},
	}
}

func TestToolsDoWhatTheOriginalWasSeenToDo(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join("testdata", "observed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	contexts := map[string]*hookcontext.Context{}
	dir := t.TempDir()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		var o observation
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		if contexts[o.Context] == nil {
			contexts[o.Context] = observedContext(t, o.Context)
		}
		count++
		reply := Run(contexts[o.Context], wire.Request{
			Dir: dir, Args: o.Argv, StdinSet: true, Stdin: []byte(o.Stdin),
		})
		if d, ok := deviations()[o.Seq]; ok {
			o.Code, o.Stdout, o.Stderr = d.code, d.stdout, d.stderr
		}
		what := fmt.Sprintf("%d %s %q", o.Seq, o.Context, o.Argv)
		mustBe(t, what+": exit code", reply.Code, o.Code)
		mustBe(t, what+": stdout", asObserved(contexts[o.Context], o, string(reply.Stdout)), o.Stdout)
		mustBe(t, what+": stderr", string(reply.Stderr), o.Stderr)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if count < 200 {
		t.Errorf("only %d observations were read", count)
	}
}

// asObserved is what a tool has printed without what the stub of the recordings didn't do: the
// original's agent puts the model into the URI of a new secret. Source:
// docs/spec/juju-clients.md §11.7.
func asObserved(c *hookcontext.Context, o observation, stdout string) string {
	if id, long := strings.CutPrefix(stdout, "secret://"+c.ModelUUID()+"/"); long && o.Argv[0] == "secret-add" {
		return "secret:" + id
	}
	return stdout
}

// observedContext is the context that the recordings name; runs of one share
// it, in their order.
func observedContext(t *testing.T, name string) *hookcontext.Context {
	view := newMemory()
	p := paramsOf(view, plainHook())
	switch {
	case name == "plain":
	case strings.HasPrefix(name, "relation-hook"):
		p = paramsOf(view, relationHook())
		p.NoReboot = hookcontext.NoRebootInAction
		p.Action = &hookcontext.Action{Name: "act", Params: map[string]any{"outfile": map[string]any{"n": int64(3), "name": "x"}}}
	case name == "empty+action":
		view.noSecrets = true
		view.state, view.ports = nil, map[model.UnitName]model.Ports{}
		p.Relations = nil
		p.Action = &hookcontext.Action{Name: "act"}
	default:
		t.Fatalf("unknown context %q", name)
	}
	return hookcontext.New(p)
}
