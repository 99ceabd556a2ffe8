package cli

import (
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// kubernetesWords are what in the name of a cloud says that it is a Kubernetes.
func kubernetesWords() []string {
	return []string{"k8s", "microk8s", "kubernetes", "k3s", "k3d", "kind", "minikube", "gke", "eks", "aks", "openshift"}
}

// kubernetesCloud says whether a cloud, "NAME" or "NAME/REGION", is one of containers
// by its name: by a word of it, as in "my-k8s" and "charmed-kubernetes".
func kubernetesCloud(cloud string) bool {
	name, _, _ := strings.Cut(strings.ToLower(cloud), "/")
	return slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }), func(word string) bool {
		return slices.Contains(kubernetesWords(), word)
	})
}

// checkMachines refuses machines as targets in a model of containers.
func (a taskVerbs) checkMachines(m *state.Model, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	info, err := m.Info(a.Context())
	if err != nil || info.Type != state.CAAS {
		return err
	}
	return errors.New("unable to target machines with a k8s controller")
}
