package machine

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// suits says whether the host has the architecture that a unit asks for; empty: any.
func (h Host) suits(arch string) bool { return arch == "" || h.Arch == "" || arch == h.Arch }

// sayUnsuited says of a unit that no agent takes on what it waits for: as in a cloud that
// has no such machines it waits on, and can be removed. Source:
// docs/spec/juju-clients.md §6.3.
func (a *modelAgent) sayUnsuited(ctx context.Context, doc state.UnitDoc) error {
	s := model.Status{Status: model.StatusWaiting, Message: "no machine with arch=" + doc.Arch}
	was, err := a.model.StatusOf(ctx, state.WorkloadStatus, string(doc.Name))
	if err == nil && (was.Status != s.Status || was.Message != s.Message) {
		err = a.model.Of(doc).SetStatus(ctx, state.WorkloadStatus, string(doc.Name), s)
	}
	if errors.Is(err, errors.NotFound) {
		return nil // it has gone meanwhile
	}
	return errors.Trace(err)
}
