package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

// k8sSpec is what four tools and their two other names have in common. They are
// for charms of containers: on a machine there is nothing that a spec could be
// applied to, so one is refused once all that is said of it is right, and there
// is none to be read. Source: docs/spec/hook-tools.md §7.5.
type k8sSpec struct {
	ctx       *hookcontext.Context
	kind      string // "k8s spec" or "k8s raw spec"
	file      string
	resources string
}

// notSupported is the error where the charm has its containers beside it, which are
// those of its metadata. Source: docs/spec/containers.md §6.
func (t *k8sSpec) notSupported() error {
	return errors.NewNotSupported(nil, t.kind+" not supported: the unit's containers are those of the charm's metadata")
}

func (t *k8sSpec) parse(args []string) error { return noMore(args) }

// k8sSet is a tool that sets a spec.
type k8sSet struct{ k8sSpec }

func (t *k8sSet) declare(f *flags) {
	f.StringVar(&t.file, "file", "-", "file containing the spec")
	if t.kind == k8sPodSpec {
		f.StringVar(&t.resources, "k8s-resources", "", "file containing k8s specific resources not yet modelled by Juju")
	}
}

func (t *k8sSet) run(c *call) error {
	text := c.stdin
	if t.file != "-" {
		b, err := readFile(c.open, c.path(t.file), maxMetadata)
		if err != nil {
			return err
		}
		text = b
	} else if !c.stdinSet {
		return errNeedStdin
	}
	if len(text) == 0 {
		return errors.Errorf("no %s specified: pipe %[1]s to command, or specify a file with --file", t.kind)
	}
	leads, err := t.ctx.IsLeader()
	if err != nil {
		return errors.Annotate(err, "cannot determine leadership status")
	}
	if !leads {
		return hookcontext.ErrNotLeader
	}
	if t.ctx.Sidecar() {
		return t.notSupported()
	}
	return errors.NewNotSupported(nil, "cannot set "+t.kind+": the unit is on a machine, not in a container")
}

// k8sGet is a tool that prints a spec.
type k8sGet struct{ k8sSpec }

func (t *k8sGet) declare(*flags) {}

func (t *k8sGet) run(*call) error {
	if t.ctx.Sidecar() {
		return t.notSupported()
	}
	return errors.NewNotFound(nil, t.kind+" not found: the unit is on a machine, not in a container")
}

const (
	k8sPodSpec = "k8s spec"
	k8sRawSpec = "k8s raw spec"
)

func k8sSetTool(name, kind string) Tool {
	return Tool{
		Name:    name,
		Args:    "--file <spec file>",
		Summary: "set " + kind + " information",
		Details: `For charms of containers; on a machine it is refused.`,
		make:    func(c *hookcontext.Context) command { return &k8sSet{k8sSpec{ctx: c, kind: kind}} },
	}
}

func k8sGetTool(name, kind string) Tool {
	return Tool{
		Name:    name,
		Summary: "get " + kind + " information",
		Details: `For charms of containers; on a machine there is none.`,
		make:    func(c *hookcontext.Context) command { return &k8sGet{k8sSpec{ctx: c, kind: kind}} },
	}
}
