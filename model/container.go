package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
)

// ContainerSpec is a workload container of a charm, as its metadata declares it.
// Source: docs/spec/containers.md §1.1.
type ContainerSpec struct {
	// Resource names the resource whose image is the container's root; empty: the
	// charm says none, and no unit of it can be provided.
	Resource string `json:"resource,omitempty"`
	// Mounts are where storage is seen in the container, in the order of the file.
	Mounts []Mount `json:"mounts,omitempty"`
	// UID and GID are whom its processes run as; nil: the charm doesn't say, which
	// isn't 0.
	UID *int `json:"uid,omitempty"`
	GID *int `json:"gid,omitempty"`
}

// Mount is a place in a container where storage of the charm's is seen. The same
// storage may be seen in several.
type Mount struct {
	Storage  string `json:"storage"`
	Location string `json:"location"`
}

// The users that a charm can ask to be run as.
const (
	CharmUserRoot    = "root"
	CharmUserSudoer  = "sudoer"
	CharmUserNonRoot = "non-root"
)

// OCIImage is the type of a resource that is a container's image; the other one
// is FileResource.
const (
	OCIImage     = "oci-image"
	FileResource = "file"
)

// Image is what an application was given for a resource of type OCIImage. It is
// fixed when it is given, so that every host, and every retry, has the same.
type Image struct {
	// Reference names the image in its canonical form.
	Reference string `json:"reference"`
	// Digest is that of the image's manifest, "sha256:…"; empty for a root that
	// has none, as the host's own or a directory.
	Digest string `json:"digest,omitempty"`
	// Username and Password are for the registry, where it asks for them. The
	// password is a secret: it is sealed where it is stored.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
}

// Same says whether both are the same image, with the same credentials.
func (i Image) Same(other Image) bool { return i == other }

// Hidden is the image without its password, for people.
func (i Image) Hidden() Image {
	i.Password = ""
	return i
}

// Sidecar says whether the charm is one for Kubernetes: it drives workloads in
// containers beside it, or has none and assumes that there is a Kubernetes.
func (c Charm) Sidecar() bool {
	return len(c.Containers) > 0 || slices.ContainsFunc(c.Assumes, func(a Assumption) bool { return a.Feature == FeatureK8sAPI })
}

// ContainerNames are the names of the charm's containers in the order in which
// they count: ports, and what is told of them, go by it. Source:
// docs/spec/containers.md §1.1.
func (c Charm) ContainerNames() []string { return slices.Sorted(maps.Keys(c.Containers)) }

// Images are the names of the charm's resources that are images, sorted.
func (c Charm) Images() []string {
	var names []string
	for name, r := range c.Resources {
		if r.Type == OCIImage {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// podStorage is where the charm of a container unit has storage that it names no
// place for. Source: docs/spec/containers.md §5.4.
const podStorage = "/var/lib/juju/storage"

// PodStorage is where the charm of a container unit has its instance number i of
// storage of that name, below the location that the charm gives; empty: the usual
// one.
func PodStorage(location, name string, i int) string {
	return strings.TrimRight(cmp.Or(location, podStorage), "/") + "/" + name + "/" + strconv.Itoa(i)
}

// CheckContainers says why no unit of the charm can be provided: a container
// that says no resource. The error is NotValid and has the contract's text.
// Source: docs/spec/containers.md §1.2.
func (c Charm) CheckContainers() error {
	for _, name := range c.ContainerNames() {
		if c.Containers[name].Resource == "" {
			return errors.NewNotValid(nil, fmt.Sprintf("container %q: empty container resource reference not valid", name))
		}
	}
	return nil
}

// CheckMounts says why the containers of an application can't have the storage that
// its units are deployed with: at the location of a mount there is room for one
// instance, and devices can't be mounted. The error is NotValid, and for the former
// has the contract's text. Source: docs/spec/containers.md §1.2.
func (c Charm) CheckMounts(application string, directives map[string]StorageDirective) error {
	for _, name := range c.ContainerNames() {
		for _, m := range c.Containers[name].Mounts {
			if c.Storage[m.Storage].Type == Block {
				return errors.NewNotValid(nil, fmt.Sprintf("container %q of %q cannot mount storage %q, which is a device: only file systems can be mounted", name, application, m.Storage))
			}
			if c.Storage[m.Storage].Complete(directives[m.Storage]).Count > 1 {
				return errors.NewNotValid(nil, fmt.Sprintf("duplicated storage name %q for %q not valid", m.Storage, application))
			}
		}
	}
	return nil
}
