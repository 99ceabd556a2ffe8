// Package systemd listens to the systemd of a unit's machine: whether the machine runs, and
// which of its services have failed.
//
// It speaks D-Bus on a connection that it is given, as somebody who may look and do nothing.
// Whoever is root in the machine may answer in systemd's place. So all that is read is
// bounded, and is shown to people only.
//
// Source: docs/spec/machine-isolation.md §8.
package systemd

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Socket is where a machine has the socket of its system bus, inside.
const Socket = "/run/dbus/system_bus_socket"

// nobody is who the agent is for the bus: somebody whom the machine has no number for.
const nobody = "65534"

// What is read at most: of the bus between two words of systemd's, of names in one.
const (
	mostRead  = 4 << 20
	mostNames = 100
	mostName  = 256
)

// pause is the least time between two questions.
const pause = time.Second

const (
	managerPath  = "/org/freedesktop/systemd1"
	managerIface = "org.freedesktop.systemd1.Manager"
	properties   = "org.freedesktop.DBus.Properties"
)

// Watch calls told with what systemd says, at once and each time that it has changed, until
// the context ends or the connection does, which it closes. The error is why it has ended.
func Watch(ctx context.Context, conn io.ReadWriteCloser, told func(model.System)) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	in, err := enter(conn)
	if err != nil {
		return errors.Annotate(err, "cannot enter the system bus")
	}
	bus, err := dbus.NewConn(in, dbus.WithContext(ctx))
	if err != nil {
		return errors.Trace(err)
	}
	defer bus.Close()
	if err := greet(ctx, bus); err != nil {
		return errors.Annotate(err, "cannot listen to systemd")
	}
	changed := make(chan *dbus.Signal, 16)
	bus.Signal(changed)
	defer bus.RemoveSignal(changed)
	var last model.System
	for {
		now, err := ask(ctx, bus)
		if err != nil {
			return errors.Annotate(err, "cannot ask systemd")
		}
		in.heard()
		if !now.Equal(last) {
			told(now)
			last = now
		}
		select { // however often it changes
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case <-time.After(pause):
		}
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case _, open := <-changed:
			if !open {
				return errors.New("the bus has closed the connection")
			}
		}
	}
}

// greet has the bus pass systemd's signals of itself.
func greet(ctx context.Context, bus *dbus.Conn) error {
	if err := bus.Auth([]dbus.Auth{dbus.AuthExternal(nobody)}); err != nil {
		return errors.Trace(err)
	}
	if err := bus.Hello(); err != nil {
		return errors.Trace(err)
	}
	for _, about := range [][]dbus.MatchOption{
		{dbus.WithMatchInterface(properties), dbus.WithMatchMember("PropertiesChanged")}, // NFailedUnits is the only one that tells of itself
		{dbus.WithMatchInterface(managerIface), dbus.WithMatchMember("StartupFinished")},
	} {
		about = append(about, dbus.WithMatchObjectPath(managerPath), dbus.WithMatchSender("org.freedesktop.systemd1"))
		if err := bus.AddMatchSignalContext(ctx, about...); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(manager(bus).CallWithContext(ctx, managerIface+".Subscribe", 0).Err)
}

func manager(bus *dbus.Conn) dbus.BusObject {
	return bus.Object("org.freedesktop.systemd1", managerPath)
}

// ask is what systemd says now.
func ask(ctx context.Context, bus *dbus.Conn) (model.System, error) {
	var state string
	if err := manager(bus).CallWithContext(ctx, properties+".Get", 0, managerIface, "SystemState").Store(&state); err != nil {
		return model.System{}, errors.Trace(err)
	}
	var failed []listed
	if err := manager(bus).CallWithContext(ctx, managerIface+".ListUnitsFiltered", 0, []string{"failed"}).Store(&failed); err != nil {
		return model.System{}, errors.Trace(err)
	}
	s := model.System{State: plain(state)}
	for _, unit := range failed[:min(len(failed), mostNames)] {
		s.Failed = append(s.Failed, plain(unit.Name))
	}
	slices.Sort(s.Failed)
	return s, nil
}

// listed is a unit of systemd as ListUnits has it.
type listed struct {
	Name, Description, Load, Active, Sub, Following string
	Path                                            dbus.ObjectPath
	Job                                             uint32
	JobType                                         string
	JobPath                                         dbus.ObjectPath
}

// plain is a name of systemd's, without what no name of it has.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, name)
	return name[:min(len(name), mostName)]
}
