package machine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/state/store"
)

// point is a moment in the life of an agent at which it can be killed: before,
// in the middle of or after a step. The step is told by what it does, to what,
// and how often the agent has done that; so that it is the same step in each
// run, whatever else goes on beside it.
type point struct {
	step string
	n    int
	when when
	// victim is who is killed then; empty: the agent.
	victim victim
}

type when string

const (
	before when = "before"
	within when = "within" // half of it is done
	after  when = "after"
)

// victim is what is killed at a point.
type victim string

const (
	agents  victim = "" // the agent itself
	pebbles victim = "pebble"
	inits   victim = "init" // of the unit's cell
	alls    victim = "all"  // of those, as if the host went down
)

func (p point) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s #%d %s", p.when, p.step, p.n, p.victim))
}

// The variables of an agent under test: the file that it writes its steps to,
// and the point at which it is to die.
const (
	stepsVariable = "UNITD_TEST_STEPS"
	pointVariable = "UNITD_TEST_POINT"
)

// encode is a point as pointVariable has it.
func (p point) encode() string {
	return strings.Join([]string{p.step, strconv.Itoa(p.n), string(p.when), string(p.victim)}, "\t")
}

// stepper is told of the steps of an agent under test.
type stepper struct {
	dir  string
	die  point
	file *os.File // nil: nobody wants to know
	mu   sync.Mutex
	seen map[string]int
}

// newStepper is what the environment asks for.
func newStepper(dir string) (*stepper, error) {
	s := &stepper{dir: dir, seen: map[string]int{}}
	if words := strings.Split(os.Getenv(pointVariable), "\t"); len(words) == 4 {
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return nil, err
		}
		s.die = point{words[0], n, when(words[2]), victim(words[3])}
	}
	if path := os.Getenv(stepsVariable); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		s.file = f
	}
	return s, nil
}

// changing are the parts of paths that are different in each world.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9]{4,}$`)

func (s *stepper) around(step durable.Step, half, whole func() error) error {
	path, err := filepath.Rel(s.dir, step.Path)
	if err != nil {
		path = step.Path
	}
	name := string(step.Do) + " " + changing.ReplaceAllString(path, "*")
	s.mu.Lock()
	s.seen[name]++
	n := s.seen[name]
	s.mu.Unlock()
	if s.file != nil {
		fmt.Fprintf(s.file, "%s\t%d\t%t\n", name, n, half != nil)
	}
	if name != s.die.step || n != s.die.n {
		return whole()
	}
	if s.die.victim == pebbles || s.die.victim == inits { // the agent goes on
		if s.die.when == after {
			defer killFirsts(s.dir, s.die.victim)
		} else {
			killFirsts(s.dir, s.die.victim)
		}
		return whole()
	}
	switch s.die.when {
	case within:
		_ = half()
	case after:
		_ = whole()
	}
	if s.die.victim == alls {
		killFirsts(s.dir, alls)
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // until it has come
}

// readPoints are the points of a run whose steps were written to a file.
func readPoints(path string) ([]point, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var points []point
	for line := range strings.Lines(string(b)) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return nil, err
		}
		points = append(points, point{step: words[0], n: n, when: before})
		if words[2] == "true" {
			points = append(points, point{step: words[0], n: n, when: within})
		}
		points = append(points, point{step: words[0], n: n, when: after})
	}
	return points, nil
}

// steppedStore tells of each commit as a step.
type steppedStore struct {
	store.Store
	disk durable.Disk
}

// commit is the durable.Verb of what the store does.
const commit durable.Verb = "commit"

func (s steppedStore) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (rev int64, err error) {
	err = s.disk.Do(durable.Step{Do: commit, Path: caller()}, func() (err error) {
		rev, err = s.Store.Update(ctx, fn, opts...)
		return err
	})
	return rev, err
}

func (s steppedStore) Grant(ctx context.Context, ttl time.Duration) (id store.LeaseID, err error) {
	err = s.disk.Do(durable.Step{Do: commit, Path: "Grant"}, func() (err error) {
		id, err = s.Store.Grant(ctx, ttl)
		return err
	})
	return id, err
}

func (s steppedStore) KeepAlive(ctx context.Context, id store.LeaseID) error {
	return s.disk.Do(durable.Step{Do: commit, Path: "KeepAlive"}, func() error { return s.Store.KeepAlive(ctx, id) })
}

func (s steppedStore) Revoke(ctx context.Context, id store.LeaseID) error {
	return s.disk.Do(durable.Step{Do: commit, Path: "Revoke"}, func() error { return s.Store.Revoke(ctx, id) })
}

// caller is the method of package state that wants something of the store.
func caller() string {
	pcs := make([]uintptr, 30)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	name := "something"
	for {
		f, more := frames.Next()
		if _, method, ok := strings.Cut(f.Function, "/state.(*"); ok {
			name = method
		}
		if !more {
			return strings.Replace(name, ")", "", 1)
		}
	}
}
