package testcharms_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/unitd/unitd/telemetry/collector"
	"github.com/unitd/unitd/testcharms"
)

// commands types commands of the program, on a data directory of its own, whose agent
// sends to a collector.
type commands struct {
	*testing.T
	dir string
	*collector.Collector
}

func newCommands(t *testing.T) *commands {
	t.Helper()
	c := &commands{T: t, dir: filepath.Join(t.TempDir(), "data"), Collector: collector.New(t)}
	t.Cleanup(func() { _, _ = c.run("", "shutdown") })
	return c
}

func (c *commands) run(traceparent string, words ...string) (string, error) {
	cmd := exec.Command(unitd(c.T), words...) // what it starts outlives the test's context
	cmd.Env = append(os.Environ(), "UNITD_DATA="+c.dir, "UNITD_OTLP="+c.URL, "TRACEPARENT="+traceparent, "UNITD_ISOLATE=off",
		"OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer x")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *commands) do(words ...string) string { c.Helper(); return c.part("", words...) }

// part is do as part of a trace.
func (c *commands) part(traceparent string, words ...string) string {
	c.Helper()
	out, err := c.run(traceparent, words...)
	if err != nil {
		c.Fatalf("unitd %s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return out
}

// tree is the spans of a trace, each below what it follows from, in an order that doesn't
// depend on time. keep leaves out the others.
func tree(spans []collector.Span, trace, root string, keep func(collector.Span) bool) string {
	var show func(parent, indent string) []string
	show = func(parent, indent string) []string {
		var below []string
		for _, s := range spans {
			if s.Trace != trace || s.Parent != parent || !keep(s) {
				continue
			}
			name := s.Name
			if u := s.Attributes["unitd.unit"]; u != "" {
				name = u + " " + name
			}
			below = append(below, strings.Join(append([]string{indent + name}, show(s.ID, indent+"  ")...), "\n"))
		}
		slices.Sort(below)
		return slices.Compact(below)
	}
	return strings.Join(show(root, ""), "\n")
}

// TestATraceIsOneTreeFromWhatWasTypedToTheHooksOfOtherUnits: config, the hook that tells of
// it, its tool calls, its commit, and the hooks of two other units that the commit caused.
func TestATraceIsOneTreeFromWhatWasTypedToTheHooksOfOtherUnits(t *testing.T) {
	t.Parallel()
	c := newCommands(t)
	c.do("deploy", testcharms.Copy(t, "ledger"), "ledger")
	c.do("deploy", testcharms.Copy(t, "shop"), "shop", "-n", "2")
	c.do("integrate", "shop", "ledger")
	c.do("wait")
	const trace, root = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	c.part("00-"+trace+"-"+root+"-01", "config", "ledger", "port=4711")
	c.do("wait")
	c.do("config", "ledger", "title=other") // of no trace that is known
	c.do("wait")
	told := strings.TrimSpace(c.do("exec", "-u", "ledger/0", "--", "echo $TRACEPARENT"))
	c.do("shutdown") // which sends what is left

	spans := c.Spans()
	got := tree(spans, trace, root, func(s collector.Span) bool {
		tool := s.Attributes["unitd.tool.call"]
		return tool == "" || strings.HasPrefix(s.Name, "relation-set") && s.Attributes["process.exit.code"] != "1"
	})
	if want := `config ledger
  ledger/0 config-changed
    commit
      shop/0 db-relation-changed
        commit
      shop/1 db-relation-changed
        commit
    relation-set`; got != want {
		t.Errorf("the trace is:\n%s\nand not:\n%s", got, want)
	}
	ids := map[string]collector.Span{}
	for _, s := range spans {
		if _, twice := ids[s.ID]; twice {
			t.Errorf("two spans are %s: %s", s.ID, s.Name)
		}
		ids[s.ID] = s
	}
	for _, s := range spans {
		if _, there := ids[s.Parent]; s.Parent != "" && s.Parent != root && !there {
			t.Errorf("nobody has seen what %s %s follows from", s.Attributes["unitd.unit"], s.Name)
		}
	}
	if s := own(spans, "config ledger", trace); s.Parent != "" {
		t.Errorf("the options that were set as part of no trace are part of %s", s.Parent)
	}
	if s := own(spans, "exec", ""); told != fmt.Sprintf("00-%s-%s-01", s.Trace, s.ID) || ids[s.Parent].Name != "run exec" {
		t.Errorf("the commands were told of %q, and are %+v, of %+v", told, s, ids[s.Parent])
	}
	if s := own(spans, "install", ""); ids[s.Parent].Name != "add "+s.Attributes["unitd.unit"] {
		t.Errorf("install follows from %+v", ids[s.Parent])
	}
	if s := own(spans, "db-relation-created", ""); ids[s.Parent].Name != "integrate shop:db ledger:db" {
		t.Errorf("a relation follows from %+v", ids[s.Parent])
	}
	c.metricsAndLogs(ids)
}

// own is the first span of that name which isn't of the trace.
func own(spans []collector.Span, name, trace string) collector.Span {
	i := slices.IndexFunc(spans, func(s collector.Span) bool { return s.Name == name && s.Trace != trace })
	if i < 0 {
		return collector.Span{Name: "none"}
	}
	return spans[i]
}

// metricsAndLogs looks at what else is sent: lines know the run that has logged them.
func (c *commands) metricsAndLogs(spans map[string]collector.Span) {
	c.Helper()
	for _, name := range []string{"unitd.hook.duration", "unitd.store.transaction.duration", "unitd.units", "unitd.build.info"} {
		if !c.Metric(name) {
			c.Errorf("the metric %s wasn't sent", name)
		}
	}
	if !c.Authorized("Bearer x") {
		c.Error("the headers of the environment weren't sent")
	}
	inRun, ofAgent := false, false
	for _, l := range c.Lines() {
		inRun = inRun || strings.HasPrefix(l.Text, `ran "install" hook`) && spans[l.Span].Name == "install" && l.Level == "INFO"
		ofAgent = ofAgent || l.Text == "the agent runs"
	}
	if !inRun || !ofAgent {
		c.Errorf("lines of a run: %v, of the agent: %v", inRun, ofAgent)
	}
}

// tracedCharm is a charm that Ops traces. What Ops has no way to be told it is told by three
// lines: which span it is part of.
const tracedCharm = `#!/usr/bin/env python3
import os

import ops
from opentelemetry import context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator


class TracedCharm(ops.CharmBase):
    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        ops.tracing.set_destination("@URL@/v1/traces", None)
        framework.observe(self.on.start, self._on_start)

    def _on_start(self, _: ops.StartEvent):
        self.unit.status = ops.ActiveStatus()


if __name__ == "__main__":
    carrier = {"traceparent": os.environ.get("TRACEPARENT", "")}
    context.attach(TraceContextTextMapPropagator().extract(carrier))
    ops.main(TracedCharm)
`

// TestSpansOfOpsArePartOfTheHooksTrace: ops[tracing], in a collector of its own choice, is
// below the span of its hook.
func TestSpansOfOpsArePartOfTheHooksTrace(t *testing.T) {
	t.Parallel()
	packages := framework(t, "opstracing")
	c := newCommands(t)
	charm := t.TempDir()
	for name, text := range map[string]string{
		"metadata.yaml": "name: traced\nsummary: x\ndescription: x\n",
		"dispatch":      "#!/bin/sh\nPYTHONPATH='" + packages + "' exec '" + python(t) + "' src/charm.py\n",
		"src/charm.py":  strings.ReplaceAll(tracedCharm, "@URL@", c.URL),
	} {
		path := filepath.Join(charm, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.do("deploy", charm, "traced")
	c.do("wait")
	c.do("shutdown")
	var hook, ops collector.Span
	spans := c.Spans()
	for _, s := range spans {
		if s.Name == "start" && s.Service == "unitd" {
			hook = s
		}
	}
	for _, s := range spans {
		if s.Name == "ops.main" && s.Parent == hook.ID {
			ops = s
		}
	}
	if hook.ID == "" || ops.Trace != hook.Trace || ops.Service != "traced" {
		t.Errorf("of the hook %+v Ops has %+v", hook, ops)
	}
	if !slices.ContainsFunc(spans, func(s collector.Span) bool { return s.Parent == ops.ID && s.Trace == ops.Trace }) {
		t.Error("Ops has nothing below its own span")
	}
}

// TestATraceGoesOverMachines: options that were set on one host, a hook on it, and the hook
// of a unit on another host that follows from its commit.
func TestATraceGoesOverMachines(t *testing.T) {
	t.Parallel()
	c := newCommands(t)
	c.do("deploy", testcharms.Copy(t, "ledger"), "ledger")
	c.do("wait")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(c.do("add-machine", "--quiet")), 0o600); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(c.dir, "store.db")
	other := exec.Command(unitd(t), "agent", "--store", store, "--join", "@"+token, "--otlp", c.URL)
	other.Env = append(os.Environ(), "UNITD_DATA="+filepath.Join(t.TempDir(), "data"), "UNITD_ISOLATE=off")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_ = other.Process.Signal(syscall.SIGTERM)
		_ = other.Wait()
	})
	t.Cleanup(end)
	c.do("deploy", testcharms.Copy(t, "shop"), "shop", "--to", "1")
	c.do("integrate", "shop", "ledger")
	c.do("wait")
	c.do("config", "ledger", "port=4711")
	c.do("wait")
	end()
	c.do("shutdown")
	spans := c.Spans()
	got := tree(spans, own(spans, "config ledger", "").Trace, "", func(s collector.Span) bool { return s.Attributes["unitd.tool.call"] == "" })
	if want := `config ledger
  ledger/0 config-changed
    commit
      shop/0 db-relation-changed
        commit`; got != want {
		t.Errorf("the trace is:\n%s\nand not:\n%s", got, want)
	}
}
