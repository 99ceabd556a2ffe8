package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/juju/errors"
)

// Template is the pod template of an application, as its charm has patched it.
type Template struct {
	Application string
	// Revision tells templates apart.
	Revision    string
	Labels      map[string]string
	Annotations map[string]string
	// Containers are the charm's and the workloads', in the template's order.
	Containers []ContainerTemplate
	// Raw is the whole template. It goes to Unit.Template once a pod has been
	// started with it, so that reads show what is in effect.
	Raw json.RawMessage
	// Changed is that of Record.Template: what the charm has changed of it.
	Changed string
}

// ContainerTemplate is one container of a pod template.
type ContainerTemplate struct {
	Name  string
	Image string
	// Env has what is said by value; what is to be taken from elsewhere isn't
	// here.
	Env      map[string]string
	Limits   Resources
	Requests Resources
}

// Resources are amounts of what a container may have, or asks for. 0 where
// nothing is said.
type Resources struct {
	MilliCPU int64 // thousandths of a processor
	Memory   int64 // bytes
}

// TemplateOf is the pod template of an application in a view. NotFound where
// there is no such application.
func TemplateOf(v View, application string) (Template, error) {
	all, err := compose(v)
	if err != nil {
		return Template{}, errors.Trace(err)
	}
	set, ok := all["statefulsets/"+application]
	if !ok || set.object == nil {
		return Template{}, errors.NotFoundf("stateful set %q", application)
	}
	t, err := templateOf(application, set.object)
	t.Changed = templateEdits(set.doc.Edits)
	return t, errors.Trace(err)
}

// templateEdits tells what a pod template was changed to from the model's own; empty:
// nothing of it was changed.
func templateEdits(edits []edit) string {
	under := path{{Field: "spec"}, {Field: "template"}}
	edits = slices.DeleteFunc(slices.Clone(edits), func(e edit) bool {
		return len(e.Path) < len(under) || e.Path[0].Field != under[0].Field || e.Path[1].Field != under[1].Field
	})
	if len(edits) == 0 {
		return ""
	}
	sum := sha256.Sum256(encode(edits))
	return hex.EncodeToString(sum[:8])
}

func templateOf(application string, set object) (Template, error) {
	raw := objectAt(set, "spec", "template")
	t := Template{
		Application: application, Revision: revision(raw), Raw: encode(raw),
		Labels: stringsAt(raw, "metadata", "labels"), Annotations: stringsAt(raw, "metadata", "annotations"),
	}
	for _, c := range listAt(raw, "spec", "containers") {
		one := ContainerTemplate{Name: textAt(c, "name"), Image: textAt(c, "image"), Env: map[string]string{}}
		for _, e := range listAt(c, "env") {
			if value, ok := at(e, "value").(string); ok {
				one.Env[textAt(e, "name")] = value
			}
		}
		var err error
		if one.Limits, err = resources(objectAt(c, "resources", "limits")); err != nil {
			return Template{}, errors.Trace(err)
		}
		if one.Requests, err = resources(objectAt(c, "resources", "requests")); err != nil {
			return Template{}, errors.Trace(err)
		}
		t.Containers = append(t.Containers, one)
	}
	return t, nil
}

func resources(said object) (Resources, error) {
	cpu, err := quantityAt(said, "cpu")
	if err != nil {
		return Resources{}, errors.Trace(err)
	}
	memory, err := quantityAt(said, "memory")
	return Resources{MilliCPU: cpu.Milli(), Memory: memory.Value()}, errors.Trace(err)
}

// quantityAt reads an amount, which may be a number as well as text.
func quantityAt(said object, name string) (Quantity, error) {
	switch v := said[name].(type) {
	case nil:
		return Quantity{}, nil
	case string:
		return ParseQuantity(v)
	case json.Number:
		return ParseQuantity(v.String())
	}
	return Quantity{}, errors.NotValidf("quantity %s", encode(said[name]))
}
