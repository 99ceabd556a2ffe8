package deploy

import (
	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmbuild"
)

// Owner is who this command is among those who use the cache of packages.
type Owner struct{ Data, Store string }

// Owner is who this command is.
func (d *Deployer) Owner() (Owner, error) {
	dir, err := agent.DataDirPath()
	if err != nil {
		return Owner{}, err
	}
	store, err := d.StoreName()
	return Owner{dir, agent.StorePlace(store)}, err
}

// BuiltWith says whether a charm was built by this command with the packages of a key.
func (d *Deployer) BuiltWith(key string) bool {
	_, is := d.built[key]
	return is
}

// holdPackages has packages stay until the command ends.
func (d *Deployer) holdPackages(h *charmbuild.Hold) {
	if h == nil {
		return
	}
	if d.built == nil {
		d.built = map[string]*charmbuild.Hold{}
	}
	d.built[h.Key()].Release()
	d.built[h.Key()] = h
}

// notePackages notes that a charm, whose archive has that hash, was made with packages.
func (d *Deployer) notePackages(h *charmbuild.Hold, sum string) error {
	o, err := d.Owner()
	if err != nil {
		return err
	}
	return h.Use(d.Context(), charmbuild.Use{Data: o.Data, Store: o.Store, Charm: sum})
}
