package workload

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
)

// imagePath is the PATH of images that name none.
const imagePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// spec is the cell of a container whose image is there, beside its unit's cell;
// program is the host's path of Pebble. Source: docs/spec/containers.md §4.1 to
// §4.3.
func (c Container) spec(image *oci.Image, with *isolate.Cell, program string) (isolate.Spec, error) {
	who, err := c.User.in(image.Layers, image.Config.User)
	if err != nil {
		return isolate.Spec{}, errors.Trace(err)
	}
	args := []string{"run", "--create-dirs", "--hold", "--http", ":" + strconv.Itoa(c.Port), "--verbose"}
	binds := []isolate.Bind{{From: c.Dir, To: Scratch}, {From: program, To: Program, ReadOnly: true, Theirs: true}}
	if c.Identities != "" {
		const at = "/charm/etc/pebble/identities.yaml"
		args = append(args, "--identities", at)
		binds = append(binds, isolate.Bind{From: c.Identities, To: at, ReadOnly: true, Theirs: true})
	}
	return isolate.Spec{
		Name: fmt.Sprintf("container %s", c.Name), Hostname: c.Hostname, ID: c.ID, Layers: image.Layers, Data: c.Data,
		Binds: slices.Concat(binds, c.Binds), With: with, Limits: c.Limits,
		First: &isolate.First{
			Path: Program, Args: args, Env: c.environ(image.Config.Env, who), Dir: image.Config.WorkingDir,
			UID: who.uid, GID: who.gid, Groups: c.User.Groups, Log: c.Log,
		},
	}, nil
}

// environ is the environment of Pebble, which all that it starts inherits. Source:
// docs/spec/containers.md §4.2.
func (c Container) environ(image []string, who person) []string {
	env := slices.Clone(image)
	env = setDefault(env, "PATH", imagePath)
	env = setDefault(env, "HOME", who.home)
	env = append(env, c.Env...)
	return lastOf(append(env,
		"JUJU_CONTAINER_NAME="+c.Name,
		"PEBBLE_SOCKET="+Scratch+"/"+socket,
		"PEBBLE="+Scratch+"/"+state,
		"PEBBLE_COPY_ONCE=/var/lib/pebble/default",
	))
}

// lastOf is an environment with each name once: what is said of it last holds, where
// programs would take what comes first.
func lastOf(env []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, v := range slices.Backward(env) {
		name, _, _ := strings.Cut(v, "=")
		if !seen[name] {
			out = append(out, v)
		}
		seen[name] = true
	}
	slices.Reverse(out)
	return out
}

// Socket is Pebble's socket, as the host has it.
func (c Container) Socket() string { return filepath.Join(c.Dir, socket) }
