package lab

import (
	"context"
	"sync"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// Statuses tells update-status hooks that change nothing as one, for as long as
// a script wants it: while time passes, such a hook of a unit stands for all
// that would follow it, until another run of the unit. It is safe for use by
// many goroutines.
type Statuses struct {
	Clock *Clock
	// Picture is how a model is, by its UUID.
	Picture func(ctx context.Context, model string) (model.Picture, error)

	mu sync.Mutex
	// until is up to when the script wants it.
	until time.Time
	units map[unitOf]*statusRuns
}

// unitOf is a unit of one of the models of a world.
type unitOf struct {
	model string
	name  model.UnitName
}

// statusRuns is what is known of a unit.
type statusRuns struct {
	// run is the newest, and before how the model was when it began; seen: it is an
	// update-status, and that is known.
	run    int64
	before model.Picture
	seen   bool
	// quiet: that one has changed nothing, and stands for those to come. passed is up
	// to when update-status counts as run for such a one.
	quiet  bool
	passed time.Time
	// secretsPassed is passed for a secret-expired or a secret-rotate that has changed nothing.
	secretsPassed time.Time
}

// Skip has it so until then; what ran before a wait stands for nothing in it.
func (s *Statuses) Skip(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until.Equal(s.until) {
		return
	}
	s.until = until
	for _, u := range s.units {
		u.quiet = false
	}
}

// Passed is the machine.Config.StatusPassed of an agent under test.
func (s *Statuses) Passed(model string, unit model.UnitName) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.units[unitOf{model, unit}]; u != nil {
		return u.passed
	}
	return time.Time{}
}

// SecretsPassed is the machine.Config.SecretsPassed of an agent under test.
func (s *Statuses) SecretsPassed(model string, unit model.UnitName) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.units[unitOf{model, unit}]; u != nil {
		return u.secretsPassed
	}
	return time.Time{}
}

// comesAgain says whether hooks of the kind come again as time passes, though nothing has changed.
func comesAgain(kind hooks.Kind) bool {
	return kind == hooks.UpdateStatus || kind == hooks.SecretExpired || kind == hooks.SecretRotate
}

// At looks at a point of a run, before any fault at it.
func (s *Statuses) At(ctx context.Context, p machine.Point) {
	u, now := s.begun(p)
	if !comesAgain(p.Hook.Kind) || p.Name != machine.PointHook && p.Name != machine.PointCommitted {
		return
	}
	s.mu.Lock()
	until, quiet := s.until, u.quiet
	s.mu.Unlock()
	if quiet || until.Before(now) {
		return
	}
	is, err := s.Picture(ctx, p.Model)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Name == machine.PointHook {
		u.before, u.seen = is, err == nil
		return
	}
	if err == nil && u.seen && len(is.Since(u.before)) == 0 {
		u.quiet = true
		if p.Hook.Kind == hooks.UpdateStatus {
			u.passed = until
		} else {
			u.secretsPassed = until
		}
	}
	u.before, u.seen = nil, false
}

// begun is what is known of the unit at a point: of nothing but this run, if it is
// another one than at the point before. Update-status counts from then again.
func (s *Statuses) begun(p machine.Point) (*statusRuns, time.Time) {
	now := s.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := unitOf{p.Model, p.Unit}
	if s.units == nil {
		s.units = map[unitOf]*statusRuns{}
	}
	u := s.units[key]
	if u == nil {
		u = &statusRuns{}
		s.units[key] = u
	}
	if u.run != p.Run {
		if now.Before(u.passed) {
			u.passed = now
		}
		if now.Before(u.secretsPassed) {
			u.secretsPassed = now
		}
		u.run, u.before, u.seen, u.quiet = p.Run, nil, false, false
	}
	return u, now
}
