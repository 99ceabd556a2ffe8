package charmdir

import (
	"io/fs"
	"path"
	"slices"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// hookNames tells a charm's hooks from its other files.
type hookNames []string

func hooksOf(charm model.Charm) hookNames {
	names := hooks.Names(charm, charm.Name)
	for _, c := range charm.ContainerNames() {
		for _, kind := range workloadHooks() {
			names = append(names, c+"-"+kind)
		}
	}
	return names
}

// workloadHooks are what each container adds, with its name before them. Source:
// docs/spec/containers.md §1.3.
func workloadHooks() []string {
	return []string{"pebble-ready", "pebble-custom-notice", "pebble-check-failed", "pebble-check-recovered"}
}

// mode is that of a charm's file whose own mode is given: files in hooks whose
// names are those of hooks that the charm can have are executable, whoever has
// forgotten to make them so. dispatch and actions are as they are given. Source:
// docs/spec/uniter-facts.md §1.6.
func (h hookNames) mode(name string, given fs.FileMode) fs.FileMode {
	if given&0o111 != 0 || path.Dir(name) == "hooks" && slices.Contains(h, path.Base(name)) {
		return 0o755
	}
	return 0o644
}
