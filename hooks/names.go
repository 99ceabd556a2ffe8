package hooks

import (
	"maps"
	"slices"

	"github.com/unitd/unitd/model"
)

// Names are the names of all hooks that an application of that charm can have,
// in the order of Kinds.
func Names(charm model.Charm, application string) []string {
	var names []string
	for _, k := range Kinds() {
		switch k.Prefix() {
		case "":
			names = append(names, string(k.Kind))
		case "storage":
			for _, s := range slices.Sorted(maps.Keys(charm.Storage)) {
				names = append(names, s+"-"+string(k.Kind))
			}
		case "container":
			for _, c := range charm.ContainerNames() {
				names = append(names, c+"-"+string(k.Kind))
			}
		default:
			for _, e := range charm.EndpointsOf(application) {
				names = append(names, e.Name+"-"+string(k.Kind))
			}
		}
	}
	return names
}
