package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/page/live"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/testcharms"
	"github.com/unitd/unitd/why"
)

// elsewhere is another host, whose agent has the world's model.
type elsewhere struct {
	*world
	dir     string
	present atomic.Bool
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{dir: t.TempDir()}
	e.world = newWorldWith(t, func(context.Context) ([]live.Other, error) {
		return []live.Other{{Machine: state.ManagingHost, Present: e.present.Load()}}, nil
	})
	dir := filepath.Join(t.TempDir(), "teller")
	e.ok(os.MkdirAll(filepath.Join(dir, "hooks"), 0o700))
	e.ok(os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("name: teller\nsummary: tells\n"), 0o600))
	e.ok(os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("options: {n: {type: int}}\n"), 0o600))
	e.ok(os.WriteFile(filepath.Join(dir, "hooks", "config-changed"), []byte("#!/bin/sh\njuju-log \"n is $(config-get n)\"\n"), 0o700))
	c, err := charmdir.Read(dir)
	e.ok(err)
	var b bytes.Buffer
	sum, err := c.Archive(&b)
	e.ok(err)
	url, err := e.model.AddCharm(e.ctx, c.Charm, sum, &b)
	e.ok(err)
	_, err = e.model.DestroyApplication(e.ctx, "shop")
	e.ok(err)
	e.ok(e.model.Deploy(e.ctx, state.DeployArgs{Application: "teller", Charm: url, Units: 1}))
	return e
}

// start starts the agent; the function ends it.
func (e *elsewhere) start() (stop func()) {
	e.Helper()
	client, err := testcharms.Client()
	e.ok(err)
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() {
		_ = machine.Run(ctx, machine.Config{
			Controller: state.NewController(e.store, clock.WallClock), Dir: e.dir, Client: client, Clock: clock.WallClock, Log: slog.New(slog.DiscardHandler),
			Host: machine.Host{Addresses: []string{"127.0.0.1"}},
		})
	})
	e.present.Store(true)
	stop = sync.OnceFunc(func() {
		e.present.Store(false)
		cancel()
		over.Wait()
	})
	e.Cleanup(stop)
	return stop
}

// shown are the teller's runs on a page.
func (s *stream) shown() (runs []string) {
	for n := 0; ; n++ {
		part, is := s.parts[fmt.Sprintf("run/teller/0/%d", n)]
		if !is {
			return runs
		}
		var r page.Run
		s.ok(json.Unmarshal(part, &r))
		runs = append(runs, fmt.Sprint(r.Run, " ", r.Hook, " ", r.Outcome))
	}
}

// ran are its runs by its history.
func (e *elsewhere) ran() (runs []string) {
	all, err := history.Read(machine.HistoryDir(e.dir, e.model.UUID()), "teller/0")
	e.ok(err)
	for _, r := range all {
		runs = append(runs, fmt.Sprint(r.Run, " ", r.Name, " ", r.Outcome))
	}
	return runs
}

func (s *stream) said(text string) func() bool {
	return func() bool {
		for _, l := range s.log {
			if l.Message == text {
				return true
			}
		}
		return false
	}
}

// configured sets the option and waits until the page shows what came of it.
func (e *elsewhere) configured(s *stream, n string) {
	e.Helper()
	e.ok(e.model.SetConfig(e.ctx, "teller", map[string]string{"n": n}, nil))
	s.until(s.said("n is " + n))
	s.until(func() bool { return slices.Equal(s.shown(), e.ran()) })
}

// TestRunsAndLinesOfOtherHostsAreSeen, each once, also when their agents are started anew.
func TestRunsAndLinesOfOtherHostsAreSeen(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t)
	stop := e.start()
	s := e.look()
	s.until(s.said("n is "))
	s.until(func() bool { return len(s.shown()) >= 3 && slices.Equal(s.shown(), e.ran()) })
	e.configured(s, "1")
	e.configured(s, "2")
	stop()
	e.start()
	e.configured(s, "3")

	var r page.Run
	e.ok(json.Unmarshal(s.parts[fmt.Sprintf("run/teller/0/%d", len(s.shown())-1)], &r))
	if _, body := e.ask("GET", fmt.Sprintf("/run?unit=teller/0&run=%d&id=%s&outcome=committed", r.Run, r.ID), "", nil); !strings.Contains(body, "n is 3") {
		t.Errorf("the run is %s", body)
	}
	if _, body := e.ask("GET", fmt.Sprintf("/lines?entity=unit-teller-0&from=%f&to=%f", r.Started, r.Started+r.Took+1000), "", nil); !strings.Contains(body, "n is 3") {
		t.Errorf("it has logged %s", body)
	}
	seen := map[string]int{}
	for _, l := range s.log {
		if strings.HasPrefix(l.Message, "n is ") {
			seen[l.Message]++
		}
	}
	if fmt.Sprint(seen) != "map[n is :1 n is 1:1 n is 2:1 n is 3:1]" {
		t.Errorf("the lines are %v", seen)
	}
}

// TestAPageForAFileHasOtherHosts: what their agents tell, or else what the model has.
func TestAPageForAFileHasOtherHosts(t *testing.T) {
	t.Parallel()
	e := newElsewhere(t)
	stop := e.start()
	s := e.look()
	s.until(s.said("n is "))
	s.until(func() bool { return len(s.shown()) >= 3 })
	capture := func() string {
		v := live.NewView(e.model, e.world.dir)
		v.Others = func(context.Context) ([]live.Other, error) {
			return []live.Other{{Machine: state.ManagingHost, Present: e.present.Load()}}, nil
		}
		w, err := v.Capture(e.ctx, func(model.UnitName) why.Answer { return why.Answer{} })
		e.ok(err)
		lines := 0
		for _, l := range w.Lines {
			if l.Message == "n is " {
				lines++
			}
		}
		return fmt.Sprint(w.Parts["run/teller/0/0"] != nil, lines)
	}
	if got := capture(); got != "true 1" {
		t.Errorf("with its agent: %s", got)
	}
	answer, err := e.model.Ask(e.ctx, state.ManagingHost, machine.FilesQuestion{Names: []string{"history/*.jsonl", "debug.log"}})
	e.ok(err)
	stop()
	if got := capture(); got != "false 0" {
		t.Errorf("without: %s", got)
	}
	e.ok(e.model.PutNewest(e.ctx, state.ManagingHost, "", answer))
	if got := capture(); got != "true 1" {
		t.Errorf("with what the model has: %s", got)
	}
}
