package machine

import (
	"path/filepath"

	"github.com/unitd/unitd/workload"
)

// charmContainers is where a container unit's charm finds the scratch directories
// of its workload containers. Source: docs/spec/containers.md §4.3.
const charmContainers = "/charm/containers"

// containersDir is the same in the unit's directory on the host.
const containersDir = "containers"

// ImagesDir is where an agent whose directory is dir has the images of containers:
// with its models, as one that was imported from an archive is nowhere else.
func ImagesDir(dir string) string { return filepath.Join(dir, "images") }

// ContainerLog is the file with what the Pebble prints in a workload container of the
// unit whose directory is dir. It isn't in the containers' directory, in which the
// charm is to find containers alone. Source: docs/spec/containers.md §4.3.
func ContainerLog(dir, container string) string {
	return filepath.Join(dir, "container-"+container+".log")
}

// PebbleSocket is the socket of the Pebble in a workload container of the unit whose
// directory is dir.
func PebbleSocket(dir, container string) string {
	return workload.Container{Dir: filepath.Join(dir, containersDir, container)}.Socket()
}

func (u *unit) containersDir() string { return filepath.Join(u.dir, containersDir) }

func (u *unit) containerLog(name string) string { return ContainerLog(u.dir, name) }
