package isolate

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// start makes the cell. What an agent that is killed in it leaves is told by the
// record, or ends by itself.
func (c *Cell) start(ctx context.Context, s Spec) error {
	if c.record.Layout != layout { // of a layout in which programs could make links there
		if err := removeAll(c.cells.disk(), filepath.Join(c.dir, jujuDir)); err != nil {
			return errors.Trace(err)
		}
	}
	for _, d := range []string{layersDir, rootDir, tmpDir, jujuDir, jujuDir + "/tools"} {
		// Others than root get to what charms have there, whatever the agent's umask.
		if err := makeDir(filepath.Join(c.dir, d), 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	if err := os.Chmod(c.Tmp(), 0o777|os.ModeSticky); err != nil {
		return errors.Trace(err)
	}
	if err := os.Chmod(c.dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	if s.Client != "" {
		if err := os.WriteFile(filepath.Join(c.tools(), "client"), nil, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	boots := c.record.Boots
	if !c.record.Paused {
		boots++
	}
	was := c.record
	c.record = record{ID: s.ID, Layout: layout, Furnished: was.Furnished, Boots: boots, As: was.As}
	if s.asRoot && os.Geteuid() != 0 {
		return errNoNetwork
	}
	var err error
	ways := c.ways(was, s.asRoot)
	if s.isSystem() {
		if !slices.Contains(ways, wayMapped) {
			return errNoSystem
		}
		ways = []way{wayMapped}
	}
	for _, w := range ways {
		if err = c.startBy(ctx, w, was, s); err == nil || !errors.Is(err, ErrNoRights) {
			break
		}
		_ = c.stop()
	}
	return errors.Trace(err)
}

// startAs starts the init, in a user name space or not.
func (c *Cell) startAs(ctx context.Context, s Spec) error {
	s, err := s.resolved(c.cells.real)
	if err != nil {
		return errors.Trace(err)
	}
	set := setUp{Spec: s, User: c.record.User, IDs: c.record.IDs, Mapped: c.record.Mapped, Fresh: !c.record.Furnished}
	if set.Dir, err = filepath.EvalSymlinks(c.dir); err != nil {
		return errors.Trace(err)
	}
	if set.Fresh && c.cells.Seed != "" {
		if err := sow(c.cells.Seed, filepath.Join(set.Dir, layersDir)); err != nil {
			return errors.Trace(err)
		}
	}
	c.record.Lost = c.lostIDs()
	b, err := c.network(&set)
	if err != nil {
		return errors.Trace(err)
	}
	group := ""
	if c.record.System = set.isSystem(); c.record.System {
		if err := set.checkSystem(); err != nil {
			return errors.Trace(err)
		}
		group = c.group(Limits{})
	}
	if err := c.save(); err != nil {
		return errors.Trace(err)
	}
	notify, err := c.prepareSystem(group)
	if err != nil {
		return errors.Trace(err)
	}
	if notify != nil {
		defer notify.Close()
	}
	return errors.Trace(c.boot(ctx, set, b, notify))
}

// boot starts the init, has the host do its part, and waits until the cell is up.
func (c *Cell) boot(ctx context.Context, set setUp, b *bridge, notify *net.UnixConn) error {
	p, err := c.spawn(set)
	if err != nil {
		return errors.Trace(err)
	}
	defer p.release()
	stop := context.AfterFunc(ctx, p.abort)
	defer stop()
	if err := p.serveHands(); err != nil {
		return errors.Trace(err)
	}
	if c.record.Without, err = p.ask(set); err != nil {
		return errors.Trace(err)
	}
	c.record.process, c.record.Net = identify(p.process.Pid), set.Network
	err = keepNumbers(c.record.Mapped, c.record.process)
	if err == nil {
		err = c.save()
	}
	if err != nil {
		p.abort()
		return errors.Trace(err)
	}
	var ahead goAhead
	if set.OwnNet {
		if ahead.Link, err = b.connect(c.key, c.record.Pid); err != nil {
			return errors.Trace(err)
		}
	}
	if _, err := p.ask(ahead); err != nil {
		return errors.Trace(err)
	}
	if err := p.settle(); err != nil {
		return errors.Trace(err)
	}
	if notify != nil {
		if err := c.cells.apart(func() error { return c.booted(ctx, p, notify) }); err != nil {
			return errors.Trace(err)
		}
	}
	c.record.Ready, c.record.Furnished = true, true
	return errors.Trace(c.save())
}

// network has the bridge there that the cell is to be connected to, and its
// address; nil: it shares the host's network.
func (c *Cell) network(set *setUp) (*bridge, error) {
	if set.Mode == model.IsolateFiles {
		return nil, nil
	}
	without := func(err error) (*bridge, error) {
		if set.Mode == model.IsolateOn || set.isSystem() {
			return nil, errors.Trace(err)
		}
		c.record.Lost = append(c.record.Lost, lostNetwork)
		return nil, nil
	}
	if set.User && !set.Mapped.Many() {
		return without(errNoNetwork)
	}
	b, err := openBridge(c.cells.Disk, c.cells.Dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	b.proposed, b.closed = c.cells.proposed, c.cells.Closed
	egress, err := b.up()
	if errors.Is(err, ErrNoRights) {
		return without(err)
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	if egress != nil {
		c.record.Lost = append(c.record.Lost, egress.Error())
	}
	set.Network, err = b.lease(c.key)
	set.OwnNet = true
	return b, errors.Trace(err)
}
