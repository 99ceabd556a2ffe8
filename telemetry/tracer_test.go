package telemetry_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/telemetry"
	"github.com/unitd/unitd/telemetry/collector"
)

var began = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// sending is a sender, and what gets all that it has sent.
func sending(t *testing.T) (*telemetry.Sender, *collector.Collector) {
	t.Helper()
	c := collector.New(t)
	s, err := telemetry.OTLP{Endpoint: c.URL + "/"}.Start(telemetry.Version{Version: "1"}, "host", "id", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func run(unit model.UnitName, kind hooks.Kind, cause machine.Cause) machine.TracedRun {
	return machine.TracedRun{Model: "m", UUID: "u", Unit: unit, Run: 7, Hook: hooks.Info{Kind: kind}, Started: began, Cause: cause}
}

func named(t *testing.T, c *collector.Collector, name string) collector.Span {
	t.Helper()
	for _, s := range c.Spans() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no span %q in %+v", name, c.Spans())
	return collector.Span{}
}

// TestARunThatWasHandedOverIsOneSpan: its hook has been told the name of the span before
// the agent became another program.
func TestARunThatWasHandedOverIsOneSpan(t *testing.T) {
	t.Parallel()
	former, _ := sending(t)
	r := run("app/0", hooks.ConfigChanged, machine.Cause{Key: "config/app/3", Name: "config app"})
	told := former.Tracer.Began(r).Traceparent()
	s, c := sending(t)
	r.Traceparent = told
	goesOn := s.Tracer.Began(r)
	if got := goesOn.Traceparent(); got != told {
		t.Errorf("the hook was told %s, and goes on as %s", told, got)
	}
	goesOn.Ended(history.Entry{Unit: "app/0", Outcome: history.Committed, Started: r.Started}, time.Time{}, 0)
	s.End()
	if span := named(t, c, "config-changed"); !strings.Contains(told, span.ID) || !strings.Contains(told, span.Trace) {
		t.Errorf("the collector has span %s of trace %s, not %s", span.ID, span.Trace, told)
	}
}

func TestARunThatFails(t *testing.T) {
	t.Parallel()
	s, c := sending(t)
	span := s.Tracer.Began(run("shop/0", hooks.Start, machine.Cause{}))
	s.Observe(machine.Event{Kind: machine.LogLine, Model: "m", Unit: "shop/0", Log: debuglog.Entry{Level: "WARNING", Message: "in it", Time: began}})
	s.Observe(machine.Event{Kind: machine.LogLine, Model: "other", Unit: "shop/0", Log: debuglog.Entry{Level: "ERROR", Message: "elsewhere", Time: began}})
	span.Ended(history.Entry{
		Unit: "shop/0", Run: 7, Started: began, Duration: time.Second, Outcome: history.Failed, Exit: 3, Message: "exit status 3", Tools: 1,
		Calls: []history.Call{{Tool: "config-get", Args: []string{"nothing"}, Code: 1, At: time.Millisecond, Took: time.Millisecond}},
	}, time.Time{}, 0)
	s.Observe(machine.Event{Kind: machine.LogLine, Model: "m", Unit: "shop/0", Log: debuglog.Entry{Level: "INFO", Message: "after it", Time: began}})
	s.End()
	hook, tool := named(t, c, "start"), named(t, c, "config-get")
	if !hook.Failed || hook.Parent != "" || hook.Attributes["process.exit.code"] != "3" || hook.Attributes["unitd.hook.outcome"] != "failed" {
		t.Errorf("the hook is %+v", hook)
	}
	if !tool.Failed || tool.Parent != hook.ID || tool.Trace != hook.Trace || tool.Attributes["unitd.tool.call"] != "config-get nothing" || !tool.Began.Equal(began.Add(time.Millisecond)) {
		t.Errorf("its call is %+v", tool)
	}
	if len(c.Spans()) != 2 {
		t.Errorf("a run that wasn't committed has %+v", c.Spans())
	}
	for _, l := range c.Lines() {
		if in := l.Text == "in it"; in != (l.Span == hook.ID) || in && l.Level != "WARNING" {
			t.Errorf("the line %+v", l)
		}
	}
	if len(c.Lines()) != 3 {
		t.Errorf("lines: %+v", c.Lines())
	}
}

// TestAgentsThatDoNotKnowOfEachOtherMakeOneTrace: one tells of what people have done, two of
// the hooks that follow from it, and a third one of a hook that follows from a commit.
func TestAgentsThatDoNotKnowOfEachOtherMakeOneTrace(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	cause := machine.Cause{Model: "m", UUID: "u", Key: "config/shop/7", Name: "config shop", At: began}
	agent := func(do func(*telemetry.Tracer)) {
		s, err := telemetry.OTLP{Endpoint: c.URL}.Start(telemetry.Version{}, "host", "id", func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		do(s.Tracer)
		s.End()
	}
	commit := ""
	agent(func(tr *telemetry.Tracer) { tr.Caused(cause) })
	for _, unit := range []model.UnitName{"shop/0", "shop/1"} {
		agent(func(tr *telemetry.Tracer) {
			span := tr.Began(run(unit, hooks.ConfigChanged, cause))
			commit = span.Commit()
			span.Ended(history.Entry{Unit: unit, Run: 7, Started: began, Outcome: history.Committed, Rev: 9}, began, time.Millisecond)
		})
	}
	agent(func(tr *telemetry.Tracer) {
		tr.Began(run("ledger/0", hooks.RelationChanged, machine.Cause{Parent: commit})).Ended(history.Entry{Started: began, Outcome: history.Committed}, time.Time{}, 0)
	})
	root := named(t, c, "config shop")
	ids, commits := map[string]bool{}, map[string]bool{}
	for _, s := range c.Spans() {
		if s.Trace != root.Trace || ids[s.ID] {
			t.Errorf("%+v isn't of the trace of %+v, or is there twice", s, root)
		}
		ids[s.ID] = true
		commits[s.ID] = s.Name == "commit"
		if s.Name == "config-changed" && s.Parent != root.ID {
			t.Errorf("%+v doesn't follow from %+v", s, root)
		}
	}
	if s := named(t, c, "-relation-changed"); !commits[s.Parent] {
		t.Errorf("%+v doesn't follow from a commit", s)
	}
	if root.Parent != "" || len(ids) != 6 {
		t.Errorf("spans: %+v", c.Spans())
	}
}

// TestATraceThatIsNotSampledIsNotSent: whoever began it says so.
func TestATraceThatIsNotSampledIsNotSent(t *testing.T) {
	t.Parallel()
	s, c := sending(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	cause := machine.Cause{UUID: "u", Key: "operation/1", Name: "run backup", Parent: parent, At: began}
	r := run("shop/0", hooks.Action, cause)
	r.First = true
	span := s.Tracer.Began(r)
	if got := span.Traceparent(); got[:36] != parent[:36] || got[52:] != "-00" {
		t.Errorf("the action is %q, of %q", got, parent)
	}
	span.Ended(history.Entry{Started: began, Outcome: history.Committed}, began, 0)
	s.End()
	if spans := c.Spans(); len(spans) > 0 {
		t.Errorf("sent: %+v", spans)
	}
}

// TestACollectorThatIsNotThereHoldsNobodyUp: it is said, once.
func TestACollectorThatIsNotThereHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	var told atomic.Int32
	s, err := telemetry.OTLP{Endpoint: url}.Start(telemetry.Version{}, "host", "id", func(error) { told.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 { // more than are kept
		s.Tracer.Began(run("shop/0", hooks.Start, machine.Cause{})).Ended(history.Entry{Started: began, Outcome: history.Committed}, time.Time{}, 0)
	}
	s.End()
	if n := told.Load(); n != 1 {
		t.Errorf("it was told %d times", n)
	}
}

func TestWhereItIsSent(t *testing.T) {
	t.Parallel()
	for endpoint, ok := range map[string]bool{
		"": true, "http://127.0.0.1:4318": true, "https://otel.example/prefix/": true,
		"127.0.0.1:4318": false, "grpc://127.0.0.1:4317": false, "http://": false, "http://h?x=y": false, "http://h#x": false, "http://u:p@h": false, ":": false,
	} {
		if err := (telemetry.OTLP{Endpoint: endpoint}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	for text, ok := range map[string]bool{
		"": false, "x": false, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": true, "00-00000000000000000000000000000000-b7ad6b7169203331-01": false,
	} {
		if telemetry.ValidTraceparent(text) != ok {
			t.Errorf("%q is valid: %v", text, !ok)
		}
	}
}
