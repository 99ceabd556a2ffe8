package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/kube"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/workload"
)

// templateFile is, beside the account of a unit, with which template its pod was
// started.
const templateFile = "template.json"

// podTemplate is the template that a pod was started with, as far as a charm has
// changed it: it stays the same for the pod, whatever the template is now. The zero
// value is that of a pod of which nothing was changed.
type podTemplate struct {
	// Pod is the number of the unit's pod that it is of.
	Pod int `json:"pod"`
	// Template is kube.Unit.Template; nil: it is the model's.
	Template json.RawMessage `json:"template,omitempty"`
	// Containers is what a workload container gets by it, by name.
	Containers map[string]templated `json:"containers,omitempty"`
}

// templated is what a container gets by a pod template.
type templated struct {
	Env    []string       `json:"env,omitempty"` // NAME=value
	Limits isolate.Limits `json:"limits,omitzero"`
}

// templateOf is the template of a pod of the unit's: the one that it was begun with,
// or, if it is yet to begin, the one that holds now.
func (u *unit) templateOf(ctx context.Context, pod state.Pod) (podTemplate, error) {
	path := filepath.Join(u.dir, kubernetesDir, templateFile)
	var t podTemplate
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &t) == nil && t.Pod == pod.Number {
		return t, nil
	}
	v, err := u.cluster.View(ctx)
	if err != nil {
		return t, errors.Trace(err)
	}
	of, err := kube.TemplateOf(v, u.name.Application())
	if err != nil {
		return t, errors.Trace(err)
	}
	t = templateFor(of, pod.Number)
	b, err := json.Marshal(t)
	if err == nil {
		err = u.disk.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = u.disk.ReplaceFile(path, b, 0o600)
	}
	return t, errors.Annotate(err, "cannot keep the template of the unit's pod")
}

// templateFor is what a pod gets by a template.
func templateFor(of kube.Template, pod int) podTemplate {
	t := podTemplate{Pod: pod}
	if of.Changed == "" {
		return t
	}
	t.Template, t.Containers = of.Raw, map[string]templated{}
	for _, c := range of.Containers {
		one := templated{Limits: isolate.Limits{MemoryBytes: c.Limits.Memory, CPUMillis: int(c.Limits.MilliCPU)}}
		for _, name := range slices.Sorted(maps.Keys(c.Env)) {
			one.Env = append(one.Env, fmt.Sprintf("%s=%s", name, c.Env[name]))
		}
		t.Containers[c.Name] = one
	}
	return t
}

// apply gives a container what the template says of it.
func (t podTemplate) apply(c *workload.Container) {
	one := t.Containers[c.Name]
	c.Env, c.Limits = append(c.Env, one.Env...), one.Limits
}
