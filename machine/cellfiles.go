package machine

import (
	stderrors "errors"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
	"github.com/unitd/unitd/tools"
)

// moveIn has in its cell what the unit has beside its charm. Of the unit's directory the
// cell has what the charm is to find, each by itself: the rest is the agent's alone, and
// who could write there could have the agent follow links.
func (u *unit) moveIn(c *cell) error {
	resources := u.resourcesDir()
	if err := u.disk.MkdirAll(resources, 0o755); err != nil {
		return errors.Trace(err)
	}
	// What charms run under other users reads there, whom the directories above
	// keep out on the host. Source: docs/spec/uniter-facts.md.
	if err := u.letAllRead(resources); err != nil {
		return errors.Trace(err)
	}
	if err := c.Attach(resourcesName+u.name.Tag(), resources, c.inside(resources)); err != nil {
		return errors.Trace(err)
	}
	if err := c.Jujud(u.machine, hooks.Version); err != nil {
		return errors.Trace(err)
	}
	host, inside, err := c.ToolsFor(u.name.Tag())
	if err != nil {
		return errors.Trace(err)
	}
	u.toolsDir = tools.NewDir(host, tools.LinksTo(client).And(func(string) string { return client }))
	u.warm, u.endedWarm = nil, false
	c.toolsDir = inside
	return nil
}

// client is the client of hook tools in a cell, from a directory of these.
const client = "../client"

// seeCharm has the charm in the unit's cell that is deployed by now, if one is.
func (u *unit) seeCharm() error {
	c := u.cell.Load()
	if c == nil {
		return nil
	}
	path := u.charm.Path()
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return nil
	}
	return errors.Trace(c.Attach(u.name.Tag(), path, c.inside(path)))
}

// The names by which a unit's things are attached, before its own; its charm has that
// alone.
const (
	resourcesName = "resources of "
	socketName    = "socket of "
)

// leaveCell takes what is a subordinate's out of the cell of its principal, when it
// is gone.
func (u *unit) leaveCell() {
	c := u.cell.Load()
	if c == nil || u.principal == "" {
		return // all of the cell goes
	}
	failed := []error{charmdir.RemoveTree(u.disk, u.toolsDir.Path())}
	for name, at := range map[string]string{
		u.name.Tag(): charmdir.NewDeployer(u.disk, u.dir).Path(), resourcesName + u.name.Tag(): u.resourcesDir(), socketName + u.name.Tag(): u.socketPath(),
	} {
		failed = append(failed, c.Detach(name, c.inside(at)))
	}
	for id, at := range c.storage {
		failed = append(failed, c.Detach(string(id), at))
	}
	if err := stderrors.Join(failed...); err != nil {
		u.log.Warn("cannot take what a unit had out of its principal's machine", "unit", u.name, "err", err)
	}
}

// attachStorage has inside of the unit's cell what storage the unit has, where the
// model says that it is, and nothing that it hasn't any more.
func (u *unit) attachStorage(all []state.StorageView) error {
	c := u.cell.Load()
	if c == nil {
		return nil
	}
	has := map[model.StorageID]bool{}
	for _, s := range all {
		at := s.Attachment.Location
		if at == "" || s.Kind != model.Filesystem {
			continue
		}
		has[s.ID] = true
		if c.storage[s.ID] == at {
			continue
		}
		from := storage.FileSystem(StorageDir(u.dataDir, u.model.UUID()), s.ID)
		if u.inPod != nil && u.inPod.shares && !s.ReadOnly {
			if err := storage.Share(u.disk, from, c.podGroup(), false); err != nil {
				return errors.Trace(err)
			}
		}
		if err := c.AttachBind(string(s.ID), isolate.Bind{From: from, To: at, ReadOnly: s.ReadOnly}); err != nil {
			return errors.Trace(err)
		}
		c.storage[s.ID] = at
	}
	for id, at := range c.storage {
		if !has[id] {
			if err := c.Detach(string(id), at); err != nil {
				return errors.Trace(err)
			}
			delete(c.storage, id)
		}
	}
	return nil
}
