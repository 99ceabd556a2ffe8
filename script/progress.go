package script

import (
	"cmp"
	"slices"
	"time"
)

// Progress is how far a run of scripts has come.
type Progress struct {
	Done, Of int
	// Running are the scripts that run, first the one that has run longest.
	Running []RunningScript
}

// RunningScript is a script that runs, and for how long it has.
type RunningScript struct {
	Name string
	For  time.Duration
}

// pace is how often Suite.Progress is told.
const pace = time.Second

// progress is how far the run has come. r.mu is held.
func (r *suiteRun) progress() Progress {
	p := Progress{Done: len(r.outcomes), Of: len(r.names)}
	for name, since := range r.running {
		p.Running = append(p.Running, RunningScript{name, time.Since(since)})
	}
	slices.SortFunc(p.Running, func(a, b RunningScript) int { return cmp.Or(cmp.Compare(b.For, a.For), cmp.Compare(a.Name, b.Name)) })
	return p
}

// tell tells of the progress now and then, if anybody wants to know. What it returns
// ends that.
func (r *suiteRun) tell() (end func()) {
	if r.suite.Progress == nil {
		return func() {}
	}
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.mu.Lock()
				r.suite.Progress(r.progress())
				r.mu.Unlock()
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-over
	}
}

// quiet has nothing be shown of the progress, before something else is. r.mu is held.
func (r *suiteRun) quiet() {
	if r.suite.Progress != nil {
		r.suite.Progress(Progress{})
	}
}
