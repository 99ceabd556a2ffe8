package cli

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a appVerbs) exposeCmd() *cobra.Command {
	var publish []string
	var to exposedTo
	cmd := &cobra.Command{
		Use:   "expose APPLICATION",
		Short: "Mark an application's ports as open to the world, and publish some on this host",
		Long: `Mark an application's ports as open to the world.

With --publish its units are reached by a port of the host: connections to it go to
the units in turn, those that refuse are passed over. It is on the loopback device
unless an address is given; 0.0.0.0 stands for all. PORT is that of the units, the
same as HOSTPORT if it is left out. The units need a network of their own
(--isolate). What is published stays so until unexpose.

With --endpoints only the ports of those endpoints are open. That, and to whom they are,
is recorded.`,
		Example: `  unitd expose shop
  unitd expose shop --publish 8080:80
  unitd expose shop --endpoints website --to-cidrs 10.0.0.0/8
  unitd expose shop --publish 0.0.0.0:443 --publish 192.0.2.1:8080:80`,
		Args:              Args(1, 1, "no application name specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			if to.given() {
				if err := a.exposeTo(m, args[0], to); err != nil || len(publish) == 0 {
					return err
				}
			}
			return a.expose(m, args[0], publish)
		},
	}
	cmd.Flags().StringArrayVar(&publish, "publish", nil, "publish a port: [ADDRESS:]HOSTPORT[:PORT]; may be given more than once")
	to.declare(cmd.Flags())
	return cmd
}

func (a appVerbs) unexposeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "unexpose APPLICATION", Short: "Take back what expose did",
		Example:           "  unitd unexpose shop",
		Args:              Args(1, 1, "no application name specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			return m.SetExposed(a.Context(), args[0], false)
		},
	}
}

func (a appVerbs) expose(m *state.Model, name string, publish []string) error {
	var ports []model.Publication
	for _, text := range publish {
		p, err := model.ParsePublication(text)
		if err != nil {
			return Usagef("%s", err)
		}
		ports = append(ports, p)
	}
	app, err := m.Application(a.Context(), name)
	switch {
	case err != nil:
		return err
	case len(ports) == 0 && len(app.ExposedEndpoints) > 0:
		return a.exposeTo(m, name, exposedTo{}) // as a whole, beside those endpoints
	case len(ports) == 0:
		return m.SetExposed(a.Context(), name, true)
	}
	for _, p := range ports {
		if slices.Contains(app.Published, p) {
			continue
		}
		if err := a.mayListen(m, name, p); err != nil {
			return err
		}
	}
	if err := m.Expose(a.Context(), name, ports); err != nil {
		return err
	}
	return a.Ensure()
}

// mayListen is the error of a port that the agent could not listen on now: as
// something else does, here or by what a model says.
func (a appVerbs) mayListen(m *state.Model, name string, p model.Publication) error {
	if err := a.publishedElsewhere(m, name, p); err != nil {
		return err
	}
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	if managed, err := a.ManagedElsewhere(dir); err != nil || managed != nil {
		return err // it is another host's port
	}
	var listening net.ListenConfig
	l, err := listening.Listen(context.WithoutCancel(a.Context()), "tcp4", p.Listen())
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("cannot publish %s: something listens on that port of this host already", p)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("cannot publish %s: this host has no such address", p)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("cannot publish %s: this user may not listen on that port", p)
	}
	return fmt.Errorf("cannot publish %s: %w", p, err)
}

// publishedElsewhere is the error of a port that is published for another
// application, of any model.
func (a appVerbs) publishedElsewhere(m *state.Model, name string, p model.Publication) error {
	c, err := a.Open()
	if err != nil {
		return err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return err
	}
	for _, info := range infos {
		apps, err := c.Open(info).Applications(a.Context())
		if err != nil {
			return err
		}
		for _, app := range apps {
			if i := slices.IndexFunc(app.Published, p.Conflicts); i >= 0 && (info.UUID != m.UUID() || app.Name != name) {
				return fmt.Errorf("cannot publish %s: %s is published for %q of the model %q", p, app.Published[i], app.Name, info.Name)
			}
		}
	}
	return nil
}
