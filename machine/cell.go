package machine

import (
	"context"
	stderrors "errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// cell is the machine of its own that an isolated unit is in. A subordinate is
// in its principal's. nil: the unit shares the host.
type cell struct {
	*isolate.Cell
	system string
	// root is the directory that is under the cell's changes; empty: the host's root.
	root string
	// agents is the directory on the host that has those of the model's units;
	// toolsDir is that of this unit's hook tools, inside.
	agents, toolsDir string
	// sidecar: its units' charm has containers, and service is the address of their
	// application; empty: it has none.
	sidecar bool
	service string
	// storage has the places of the unit's storage that is attached inside.
	storage map[model.StorageID]string
}

// NewCells are the cells of an agent whose directory is dir, Config.Dir; program
// is unitd.
func NewCells(dir, program string) *isolate.Cells {
	return &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: program}
}

// CellKey is the key of the cell of a unit that is no subordinate. uuid is that
// of the model.
func CellKey(uuid string, unit model.UnitName) string { return uuid + "/" + unit.Tag() }

// inside is a path of an agent's directory as the cell's programs see it.
func (c *cell) inside(path string) string {
	if rest, ok := strings.CutPrefix(path, c.agents+"/"); ok {
		return isolate.Juju + "/agents/" + rest
	}
	return path
}

// seenAt is a path of the unit's directory as its hooks see it.
func (u *unit) seenAt(path string) string {
	if c := u.cell.Load(); c != nil {
		return c.inside(path)
	}
	return path
}

// host is the host as the unit in the cell sees it.
func (c *cell) host(h Host) Host {
	h.Path = isolate.Path
	if c.system == isolate.HostOS && c.root != "" {
		h.readOSRelease(filepath.Join(c.root, "etc/os-release"))
	}
	if c.system != isolate.HostOS {
		h.BaseName, h.BaseChannel, _ = strings.Cut(c.system, "@")
		h.Ubuntu, h.Debian = h.BaseName == "ubuntu", true
	}
	n := c.Network()
	if n.Address != "" {
		h = h.At(n.Address)
	}
	if c.sidecar {
		h.Network = sidecarNetwork(h.Addresses, c.service)
		return h
	}
	if n.Address == "" {
		return h
	}
	h.Network.Interfaces = []hookcontext.Interface{{
		Name: "eth0", MAC: isolate.MAC(n.Address), Addresses: []hookcontext.Address{{Value: n.Address, CIDR: network(n)}},
	}}
	return h
}

// network is the address range that a cell's address is of.
func network(n isolate.Network) string {
	p, err := n.Prefix()
	if err != nil {
		return n.Address + "/" + strconv.Itoa(n.Bits)
	}
	return p.String()
}

// isolate has the unit's cell there, if its application is isolated.
func (u *unit) isolate(ctx context.Context) error {
	in := u.name // whose cell it is
	if u.principal != "" {
		in = u.principal
	}
	app, err := u.model.Application(ctx, in.Application())
	if err != nil {
		return errors.Trace(err)
	}
	key := CellKey(u.model.UUID(), in)
	if !app.Isolation.On() {
		if u.principal != "" {
			return nil
		}
		return errors.Trace(u.cells.Remove(key)) // a former unit's of the same name
	}
	doc, err := u.model.Unit(ctx, in)
	if err != nil {
		return errors.Trace(err)
	}
	system, err := isolate.ParseOS(app.Isolation.OS)
	if err != nil {
		return errors.Trace(err)
	}
	if app.Isolation.OwnNetwork() {
		if err := u.wiring.propose(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	agents := filepath.Dir(u.dir)
	c, err := u.cells.Open(ctx, key, isolate.Spec{
		Name: string(in), Hostname: strings.TrimPrefix(in.Tag(), "unit-"), ID: doc.ID, Mode: app.Isolation.Mode,
		Root: app.Isolation.Root, OS: system, Data: u.dataDir, Shared: u.shared, Client: u.client, Accounts: accountsOf(app),
	})
	if err != nil {
		return errors.Trace(err)
	}
	if lost := c.Lost(); lost != "" {
		u.log.Warn("the unit is not isolated in all respects", "unit", u.name, "lost", lost)
	}
	own := &cell{Cell: c, system: system, root: app.Isolation.Root, agents: agents, storage: map[model.StorageID]string{}}
	if err := u.found(ctx, own, app); err != nil {
		return errors.Trace(err)
	}
	if err := u.moveIn(own); err != nil {
		return errors.Trace(err)
	}
	u.cell.Store(own)
	u.rebootsItself(ctx, own)
	if u.principal == "" {
		if err := u.wiring.meet(ctx); err != nil {
			return errors.Trace(err)
		}
		u.wiring.enter(u.name.Tag(), u.name, own.Network(), own.sidecar, filepath.Join(u.dir, resolverRecord), own.EditFile)
	}
	return u.tellMachine(ctx)
}

// tellMachine tells the model of the machine that an isolated unit is.
func (u *unit) tellMachine(ctx context.Context) error {
	u.tellingMachine.Lock() // or an older word could come after a newer one
	defer u.tellingMachine.Unlock()
	err := u.model.SetMachine(ctx, u.hostNow().machine(u.machine))
	if errors.Is(err, errors.NotFound) {
		return nil // on its way out
	}
	return errors.Trace(err)
}

// hostNow is what the unit takes for its host.
func (u *unit) hostNow() Host {
	h := u.present.now()
	if c := u.cell.Load(); c != nil {
		h = c.host(h)
		h.Hostname, h.System = strings.TrimPrefix(u.cellOf().Tag(), "unit-"), u.system.Load()
	} else if end := u.facing.Load(); end != nil && end.Address != "" && h.local() {
		h = h.facing(*end)
	}
	return h
}

// boot names the time since the unit's machine was last booted, this host or its
// cell: then start runs again, which may bring back what ran there.
func (u *unit) boot() string {
	c := u.cell.Load()
	if c == nil || u.host.Boot == "" {
		return u.host.Boot
	}
	return u.host.Boot + "/" + strconv.Itoa(c.Boots())
}

// cellOf is the unit whose cell it is in, if it is in one.
func (u *unit) cellOf() model.UnitName {
	if u.principal != "" {
		return u.principal
	}
	return u.name
}

// hostOf is the host as the units on a machine see it; known: one of them has said so.
func (a *modelAgent) hostOf(machine string) (h Host, known bool) {
	for _, u := range a.units {
		if u.machine == machine && (u.cell.Load() != nil || u.facing.Load() != nil) {
			return u.hostNow(), true
		}
	}
	return a.present.now(), false
}

// listen opens the unit's socket for hook tools, also for those in its cell.
func (u *unit) listen() (*tools.Server, error) {
	path := u.socketPath()
	c := u.cell.Load()
	if c == nil && u.handed == nil {
		return tools.Listen(path, u.log)
	}
	listen := func() (*tools.Server, error) { return tools.ListenNear(path, u.log) }
	if u.handed != nil {
		listen = func() (*tools.Server, error) {
			return tools.ListenOn(u.handed.Socket, path, u.handed.Address, c != nil, u.log)
		}
	}
	s, err := listen()
	if err != nil || c == nil {
		return s, errors.Trace(err)
	}
	s.OpenBy(c.OpenAsPerson)
	s.ServeRange(c.Numbers())
	err = s.GiveBy(func(path string, uid int) error { return u.disk.Lchown(path, c.caller(uid), -1) })
	if err == nil {
		err = c.AttachBind(socketName+u.name.Tag(), isolate.Bind{From: path, To: c.inside(path), Theirs: true})
	}
	if err != nil {
		return nil, stderrors.Join(err, s.Close())
	}
	s.ServeOutside(func(call context.Context, req wire.Request) wire.Reply { return u.outside(call, u.cellOf(), req) })
	return s, nil
}

// caller is the number of a user of the cell as the owner of a socket that the cell has
// as the host does: that of the user's processes.
func (c *cell) caller(uid int) int {
	if _, own := c.Numbers(); own > 0 {
		uid, _ = c.OfProcess(uid, 0)
	}
	return uid
}

// socketPath is the socket for the unit's hook tools.
func (u *unit) socketPath() string { return filepath.Join(u.dir, "agent.socket") }

// command is a program of the charm as it is to be run: in the unit's cell, if it
// has one.
func (u *unit) command(path string, args []string, env []string) runner.Cmd {
	c := u.cell.Load()
	if c == nil {
		return runner.Cmd{Path: path, Args: args, Dir: u.charm.Path(), Env: env}
	}
	path, args = c.Command(c.inside(u.charm.Path()), c.inside(path), args...)
	return runner.Cmd{Path: path, Args: args, Dir: "/", Env: env, Within: c.Groups()}
}

// startable is the error of a program that can't be started in the unit's cell,
// in the words of one that can't be on the host.
func (u *unit) startable(path string) error {
	c := u.cell.Load()
	if c == nil || !strings.HasPrefix(path, u.dir) {
		return nil
	}
	if st, err := os.Stat(path); err == nil && st.Mode()&0o111 == 0 {
		return errors.New(StartError(path, os.ErrPermission))
	}
	line, err := firstLine(path)
	interpreter, script := interpreterOf(line)
	if err != nil || !script {
		return nil
	}
	f, err := c.OpenFile(interpreter, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if os.IsNotExist(err) {
		return errors.New(StartError(path, os.ErrNotExist))
	}
	if err == nil {
		f.Close()
	}
	return nil
}

// removeCell takes the cell of a unit away that is gone, with all that it has
// started there, and its workload containers.
func (a *modelAgent) removeCell(tag string) {
	a.wiring.leave(tag)
	a.wiring.leave(podNames(tag))
	if err := a.Cells.Clear(a.model.UUID() + "/" + tag); err != nil {
		a.log.Error("cannot remove the machine of an isolated unit", "unit", tag, "err", err)
	}
}

// clearCells takes the cells away of units that aren't there; there has the tags
// of those that are.
func (a *modelAgent) clearCells(there map[string]bool) {
	for _, tag := range cellsOf(a.Config, a.model.UUID()) {
		if unit, _ := isolate.CutContainer(tag); !there[unit] {
			a.removeCell(tag)
		}
	}
}

// cellsOf are the tags of the units of a model that have cells, and those of the
// units' workload containers; isolate.CutContainer tells the two apart.
func cellsOf(c Config, uuid string) []string {
	keys, err := c.Cells.Keys()
	if err != nil {
		c.Log.Error("cannot look for the machines of former units", "err", err)
	}
	var tags []string
	for _, key := range keys {
		if tag, ok := strings.CutPrefix(key, uuid+"/"); ok {
			tags = append(tags, tag)
		}
	}
	return tags
}
