package machine

import (
	"context"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// PointName names a moment in the life of a hook run.
type PointName string

// The points of a run, in their order.
const (
	PointHook      PointName = "hook"      // it is announced, in the journal; its executable is not started yet
	PointStarted   PointName = "started"   // its executable runs; of a hook that the charm doesn't have nothing does
	PointTool      PointName = "tool"      // a hook tool call has been answered
	PointEnded     PointName = "ended"     // the executable has ended, well or not
	PointCommit    PointName = "commit"    // what it wrote is about to be committed
	PointCommitted PointName = "committed" // the model has it; the journal doesn't say so
)

// PointNames are all of them.
func PointNames() []PointName {
	return []PointName{PointHook, PointStarted, PointTool, PointEnded, PointCommit, PointCommitted}
}

// Point is a moment in the life of one hook run, at which tests can have
// something happen.
type Point struct {
	Name PointName
	// Model is the UUID of the unit's model.
	Model string
	Unit  model.UnitName
	Run   int64
	Hook  hooks.Info
	Tool  string // of PointTool
	// Stand says that whoever waits at this point does so on purpose, or does no
	// more: others needn't wait for the unit meanwhile.
	Stand func(bool)
}

// at tells Config.At of a point.
func (u *unit) at(ctx context.Context, name PointName, run int64, h hooks.Info, tool string) error {
	if u.atPoint == nil {
		return nil
	}
	return u.atPoint(ctx, Point{Name: name, Model: u.model.UUID(), Unit: u.name, Run: run, Hook: h, Tool: tool, Stand: u.stand})
}
