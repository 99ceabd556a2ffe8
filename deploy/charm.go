package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

// checkAssumes says what a charm assumes that there isn't. k8s-api there is in every
// model, as what charms need of it is wherever they are deployed.
func checkAssumes(charm model.Charm) error {
	return model.CheckAssumes(charm.Assumes, map[string]string{
		model.FeatureJuju: hooks.Version, model.FeatureK8sAPI: render.KubernetesVersion,
	})
}

// StillThere is the error of deploying an application while one of the same
// name is on its way out.
func StillThere(name string) error {
	return errors.NewAlreadyExists(nil, fmt.Sprintf(`application %q is still being removed: "unitd wait" waits until it is gone, `+
		`"unitd remove-application %[1]s --force --no-wait" runs no more hooks of it; or deploy under another name`, name))
}

// ReadCharm reads the charm that a person has named by path.
func ReadCharm(path string) (*charmdir.Charm, error) {
	local := strings.HasPrefix(path, ".") || filepath.IsAbs(path)
	if !local {
		if _, err := os.Stat(path); err == nil {
			return nil, agent.Wrongf("The charm or bundle %q is ambiguous.\nTo deploy a local charm or bundle, run `unitd deploy ./%[1]s`", path)
		}
		return nil, errors.NewNotFound(nil, fmt.Sprintf("charm %q not found: its path is to be named, as ./%s", path, path))
	}
	return charmdir.Read(path)
}

// ReadDeployable reads the charm that a person has named by path, if it can run
// here.
func (d *Deployer) ReadDeployable(path string) (*charmdir.Charm, error) {
	charm, err := ReadCharm(path)
	if err != nil {
		return nil, err
	}
	return charm, d.checkDeployable(charm.Charm)
}

// readDeployable is ReadDeployable for a path that nobody has typed.
func (d *Deployer) readDeployable(path string) (*charmdir.Charm, error) {
	charm, err := charmdir.Read(path)
	if err != nil {
		return nil, err
	}
	return charm, d.checkDeployable(charm.Charm)
}

// checkDeployable says why a charm can't run here.
func (d *Deployer) checkDeployable(charm model.Charm) error {
	if err := checkAssumes(charm); err != nil {
		return err
	}
	return d.checkSystem(charm)
}
