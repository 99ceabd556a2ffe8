package deploy

import (
	"io"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
)

// Deployer brings charms into a model.
type Deployer struct {
	*agent.Host
	stderr io.Writer

	System string   // where agents run, by runtime.GOOS; empty: that of this host
	noted  []string // what was said of charms that lack something

	image imageDoor
	held  []oci.Resolved // images that were resolved
	// built are the packages that charms were built with, by their keys.
	built map[string]*charmbuild.Hold

	// Offline: no hub is asked. What was had before serves.
	Offline bool
	// hubURL, aliasFile and preferred are what the followed model says, see Following.
	hubURL, aliasFile string
	preferred         model.Base
	hub               *charmhub.Client
	hubs              []*charmhub.Client
	aliases           map[string]string // by name; nil: not read yet

	passedOver bool // it was said which machines units don't wait for
}

// New is for a command that works with that host, and shows on stderr how far
// it is.
func New(host *agent.Host, stderr io.Writer) *Deployer {
	d := &Deployer{Host: host, stderr: stderr}
	d.image = d.resolveImage
	return d
}

// LetGo lets go of what was held in caches until the command ends.
func (d *Deployer) LetGo() {
	for i := range d.held {
		d.held[i].Release()
	}
	for _, hub := range d.hubs {
		hub.Cache.LetGo()
	}
	for _, hold := range d.built {
		hold.Release()
	}
}
