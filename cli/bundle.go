package cli

import (
	"github.com/unitd/unitd/bundle"
)

// bundles applies bundles.
func (a charmVerbs) bundles() *bundle.Applier { return &bundle.Applier{Deployer: a.Deployer} }

// deployBundle is deploy with a bundle.
func (a charmVerbs) deployBundle(path, name string, f deployFlags) error {
	if name != "" || f.units != -1 || len(f.config) > 0 || f.trust || len(f.constraints) > 0 || f.hookTimeout+f.lockGroup != "" || len(f.resources) > 0 {
		return Usagef("%s", bundle.As(path, ": ")+"a bundle names its applications, and says their units and options itself")
	}
	if why := bundle.As(path, ""); why != "" {
		a.Note("%s", why)
	}
	p, err := a.bundles().Plan(path)
	if err != nil {
		return err
	}
	defer p.Drop()
	if p.Isolation, err = f.isolate.Isolation(); err != nil {
		return err
	}
	p.Asked = f.isolate
	if err := a.CheckIsolation(f.isolate, p.Isolation, false); err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if err := a.bundles().Apply(m, p); err != nil {
		return err
	}
	return a.added()
}
