package deploy

import (
	"archive/zip"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/kube"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// Lacking is what NoteLacks is to know of an application beside its charm.
type Lacking struct {
	application string
	trusted     bool
	isolated    bool
	images      map[string]model.Image // by resource
}

// WhenDeployed is that of an application that is deployed.
func WhenDeployed(todo state.DeployArgs) Lacking {
	l := Lacking{application: todo.Application, trusted: todo.Trust, isolated: todo.Isolation.On(), images: map[string]model.Image{}}
	l.add(todo.Resources)
	return l
}

// WhenRefreshed is that of an application that is there, and is given resources, and
// trusted or not; nil: as it was.
func WhenRefreshed(doc state.ApplicationDoc, given map[string]state.Content, trust *bool) Lacking {
	l := Lacking{application: doc.Name, trusted: doc.Trust, isolated: doc.Isolation.On(), images: map[string]model.Image{}}
	if trust != nil {
		l.trusted = *trust
	}
	for name, r := range doc.Resources {
		if r.Image != nil {
			l.images[name] = *r.Image
		}
	}
	l.add(given)
	return l
}

func (l Lacking) add(given map[string]state.Content) {
	for name, c := range given {
		if c.Image != nil {
			l.images[name] = *c.Image
		}
	}
}

// NoteLacks says what a container charm won't find here, in a line for each of: its
// containers, the Kubernetes API, and Pebble. What was said of the charm before isn't said again.
func (d *Deployer) NoteLacks(c *charmdir.Charm, l Lacking) {
	for _, line := range []string{containersLack(c, l), kubernetesLacks(c, l), d.pebbleLacks(c, l)} {
		if line == "" || slices.Contains(d.noted, line) {
			continue
		}
		d.noted = append(d.noted, line)
		d.Note("WARNING %s", render.Harmless(line))
	}
}

// containersLack says in a line that the containers of a charm don't run: they do beside
// isolated units alone.
func containersLack(c *charmdir.Charm, l Lacking) string {
	if len(c.Containers) == 0 || l.isolated {
		return ""
	}
	return fmt.Sprintf("the units of %q aren't isolated, so its containers (%s) don't run: remove the application, and deploy it with --isolate=auto",
		l.application, strings.Join(c.ContainerNames(), ", "))
}

// kubernetesLacks says in a line what a container charm wants of the Kubernetes API that
// it won't find: all of it where it isn't trusted, and kinds of objects. What
// can't be read of the charm is for others to complain about.
func kubernetesLacks(c *charmdir.Charm, l Lacking) string {
	if !c.Sidecar() {
		return ""
	}
	files := os.DirFS(c.Path)
	if !c.Dir {
		r, err := zip.OpenReader(c.Path)
		if err != nil {
			return ""
		}
		defer r.Close()
		files = r
	}
	found, err := kube.ReadImports(files)
	if err != nil || !found.Uses {
		return ""
	}
	var lacks []string
	if !l.trusted {
		lacks = append(lacks, fmt.Sprintf(`it gets none of it until "unitd trust %s --scope=cluster", as --trust was not given`, l.application))
	}
	if len(found.Unanswered) > 0 {
		lacks = append(lacks, "it imports what isn't answered here: "+strings.Join(found.Unanswered, ", "))
	}
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("%q uses the Kubernetes API: %s", c.Name, strings.Join(lacks, "; "))
}
