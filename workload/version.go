package workload

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// WantedPebble is the oldest Pebble that has all that containers are promised: the
// one that Juju 3.6 runs.
const WantedPebble = "v1.16"

// since are the first releases 1.N known to have something, and what that is. A
// release between the one before, known not to have it, and this one may have it as
// well.
var since = []struct {
	minor int
	what  string
}{
	{10, "custom-notice hooks"},
	{10, "the image's own layers (PEBBLE_COPY_ONCE)"},
	{11, "check-failed and check-recovered hooks"},
	{15, "the access of charms that don't run as root (--identities)"},
}

// pebbleVersion is how Pebble says its own.
var pebbleVersion = pattern.New(`^v(\d+)\.(\d+)\.\d+`)

// Lacks says what containers lack with a Pebble of a version, such as "v1.12.0": hooks
// of the charm, and options. It is empty for one that has all, and for what isn't the
// version of a release, of which nobody knows.
//
// Source: docs/spec/containers.md §2.1, §4.1, §4.2; the releases' own sources.
func Lacks(version string) []string {
	found := pebbleVersion.FindStringSubmatch(version)
	if found == nil {
		return nil
	}
	major, err := strconv.Atoi(found[1])
	if err != nil || major > 1 {
		return nil
	}
	minor, err := strconv.Atoi(found[2])
	if err != nil {
		return nil
	}
	var lacks []string
	for _, s := range since {
		if major < 1 || minor < s.minor {
			lacks = append(lacks, s.what)
		}
	}
	return lacks
}

// VersionOf asks the Pebble at a path of the host for its version, for a few seconds at
// most. The error is that it can't be run, or doesn't answer in a line.
func VersionOf(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "--client")
	cmd.Env = []string{}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	version := strings.TrimSpace(string(out))
	if err == nil && (version == "" || strings.ContainsAny(version, "\n\x1b")) {
		err = errors.New("it says no version")
	}
	return version, errors.Annotate(err, fmt.Sprintf("cannot ask %s for its version", path))
}

// HasPebble says whether an image whose layers are directories of the host, top first,
// has a Pebble of its own, which its container gets where the host has none.
func HasPebble(layers []string) bool { return pebbleOf(layers) != "" }

// StartsPebble says whether an image whose process is started by those words has a
// Pebble of its own: rocks say so of themselves.
func StartsPebble(entrypoint []string) bool {
	if len(entrypoint) == 0 {
		return false
	}
	for _, name := range inImages {
		if strings.TrimPrefix(entrypoint[0], "/") == name || entrypoint[0] == "pebble" {
			return true
		}
	}
	return false
}
