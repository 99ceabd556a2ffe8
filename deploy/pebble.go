package deploy

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/workload"
)

// linux is the system that containers need.
const linux = "linux"

// checkSystem refuses charms with containers where they can't run: on another system
// than Linux, unless another host's agent manages the models.
func (d *Deployer) checkSystem(charm model.Charm) error {
	system := cmp.Or(d.System, runtime.GOOS)
	if len(charm.Containers) == 0 || system == linux {
		return nil
	}
	if others, err := d.othersRun(); err != nil || others {
		return err
	}
	return errors.NewNotSupported(nil, fmt.Sprintf("charm %q has workload containers (%s), which need Linux, and this host runs %s: deploy it on a host with Linux, or in a virtual machine",
		charm.Name, strings.Join(charm.ContainerNames(), ", "), systemName(system)))
}

// othersRun says whether another host's agent manages the models.
func (d *Deployer) othersRun() (bool, error) {
	dir, err := agent.DataDir()
	if err != nil {
		return false, err
	}
	managed, err := d.ManagedElsewhere(dir)
	return managed != nil && managed.Alive, err
}

// systemName is what people call a system.
func systemName(system string) string {
	if system == "darwin" {
		return "macOS"
	}
	return system
}

// pebbleLacks says in a line that there is no Pebble for containers of a charm, or what
// the one that there is lacks; empty: nothing. Containers of units that aren't isolated
// don't run in any case.
func (d *Deployer) pebbleLacks(c *charmdir.Charm, l Lacking) string {
	if len(c.Containers) == 0 || !l.isolated {
		return ""
	}
	if others, err := d.othersRun(); err != nil || others {
		return "" // its hosts have Pebbles of their own
	}
	path, err := agent.Pebble()
	switch {
	case errors.Is(err, errors.NotValid):
		return fmt.Sprintf("%q has no Pebble: %s isn't a program that can be run, and its containers can't start", c.Name, err)
	case err != nil:
		return ""
	case path != "":
		return oldPebble(d.Context(), c, path)
	}
	var without []string
	for _, name := range c.ContainerNames() {
		if !imageHasPebble(d.Context(), l.images[c.Containers[name].Resource]) {
			without = append(without, name)
		}
	}
	if len(without) == 0 {
		return ""
	}
	noun, they := "container", "it"
	if len(without) > 1 {
		noun, they = "containers", "they"
	}
	return fmt.Sprintf(`there is no Pebble for the %s %s of %q, and without one %s can't start: put one on the agent's PATH, or name it by %s=FILE `+
		`("make pebble" builds one as bin/pebble), and start the agent anew`, noun, strings.Join(without, ", "), c.Name, they, workload.PebbleVariable)
}

// oldPebble says what the Pebble at a path lacks for a charm.
func oldPebble(ctx context.Context, c *charmdir.Charm, path string) string {
	version, err := workload.VersionOf(ctx, path)
	if err != nil {
		return ""
	}
	lacks := workload.Lacks(version)
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf(`the Pebble of the containers of %q, %s, is %s: before %s it lacks %s; "make pebble" builds a newer one`,
		c.Name, path, version, workload.WantedPebble, strings.Join(lacks, ", "))
}

// imageHasPebble says whether an image has a Pebble of its own, as far as that is known:
// of one that isn't unpacked yet, whether it starts with it.
func imageHasPebble(ctx context.Context, image model.Image) bool {
	ref, err := oci.Parse(image.Reference)
	if err != nil {
		return false
	}
	switch {
	case ref.Kind == oci.Host:
		return workload.HasPebble([]string{"/"})
	case ref.Directory():
		return workload.HasPebble([]string{ref.Path})
	}
	dir, err := agent.DataDirPath()
	if err != nil {
		return false
	}
	cache, end := ImageCache(dir)
	defer end()
	if source := (oci.Source{Reference: ref}); cache.Has(source, image.Digest) {
		whole, err := cache.Fetch(ctx, source, image.Digest)
		if err != nil {
			return false
		}
		defer whole.Release()
		return workload.HasPebble(whole.Layers)
	}
	config, err := cache.ConfigOf(image.Digest)
	return err == nil && workload.StartsPebble(config.Entrypoint)
}
