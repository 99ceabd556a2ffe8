package machine_test

import (
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// ahead is a clock that shows a later time than it is.
type ahead struct {
	clock.Clock
	by time.Duration
}

// Now is part of clock.Clock.
func (a ahead) Now() time.Time { return a.Clock.Now().Round(0).Add(a.by) }

// NewAlarm rings when as much time has really passed.
func (a ahead) NewAlarm(at time.Time) clock.Alarm {
	return a.Clock.NewAlarm(a.Clock.Now().Add(at.Sub(a.Now())))
}

// TestAClockThatWasAheadLeavesNoUnitWaiting has a hook fail while the clock is 26
// hours ahead. Once it is set right, and the agent started anew, the hook is run
// again within its back-off.
func TestAClockThatWasAheadLeavesNoUnitWaiting(t *testing.T) {
	t.Parallel()
	wrong := true
	w := newWorldWith(t, func(c *machine.Config) {
		if wrong {
			c.Clock = ahead{clock.WallClock, 26 * time.Hour}
		}
	})
	w.deploy("app", w.charm(plain, "[ -e ../tried ] && exit 0\ntouch ../tried\nexit 1\n"), 1)
	w.until("install has failed", func(s *state.FullStatus) bool {
		return len(s.Applications) > 0 && s.Applications[0].Units[0].Workload.Status == model.StatusError
	})
	w.stop()
	wrong = false
	w.restart()
	w.until("it is run again", func(s *state.FullStatus) bool {
		return s.Applications[0].Units[0].Workload.Status != model.StatusError
	})
	w.settle()
	w.wantHooks("app/0", "install failed", "install", "leader-elected", "config-changed", "start")
}
