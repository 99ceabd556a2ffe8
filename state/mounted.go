package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// mayDetach refuses to detach attached storage that workload containers of a living
// unit have mounted: they have it as long as they are there, so that the charm alone
// would lose it. It goes with the unit. Source: docs/spec/containers.md §5.4.
func (d docs) mayDetach(s StorageDoc) error {
	u, err := d.unit(s.Unit)
	if err != nil {
		return errors.Trace(err)
	}
	app, err := d.application(s.Unit.Application())
	if err != nil {
		return errors.Trace(err)
	}
	if !app.Sidecar || u.Life != model.Alive || app.Life != model.Alive {
		return nil
	}
	var a AttachmentDoc
	if err := d.get(attachmentKey(s.Unit, s.ID), &a); err != nil {
		return errors.Trace(err)
	}
	if !a.Initial {
		return nil // what is added later is the charm's alone
	}
	pod, err := d.podOf(app, s.Unit)
	if err != nil {
		return errors.Trace(err)
	}
	url := app.Charm
	if has, known := pod.Had(); known {
		url = has.Charm
	}
	charm, err := d.charm(url)
	if err != nil {
		return errors.Trace(err)
	}
	var have []string
	for _, name := range charm.Charm.ContainerNames() {
		mounts := charm.Charm.Containers[name].Mounts
		if slices.ContainsFunc(mounts, func(m model.Mount) bool { return m.Storage == s.ID.Name() }) {
			have = append(have, name)
		}
	}
	if len(have) == 0 {
		return nil
	}
	return errors.NewNotValid(nil, fmt.Sprintf("storage %s is mounted in containers of %s (%s), which keep it for as long as the unit is there: scale %q down, or remove it",
		s.ID, s.Unit, strings.Join(have, ", "), app.Name))
}
