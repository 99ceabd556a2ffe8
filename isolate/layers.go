package isolate

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// layersDir is the part of a cell's directory that has a directory for each overlay, with what
// has changed.
const layersDir = "layers"

// tmpDir is the part of it that is the cell's /tmp.
const tmpDir = "tmp"

// Layer is what has changed in a cell of one directory of the host, or of its base.
type Layer struct {
	// Path is the directory as the cell sees it, Dir where the changes are: as an overlay has
	// them, with a device without a number for what was removed.
	Path, Dir string
}

// Layers are those of the cell whose directory it is, and its own /tmp, which is all its change;
// none of a directory that isn't there.
// Whoever reads there must follow no links: the cell's programs make them.
func Layers(dir string) ([]Layer, error) {
	entries, err := os.ReadDir(filepath.Join(dir, layersDir))
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Trace(err)
	}
	var all []Layer
	for _, e := range entries {
		name, is := strings.CutPrefix(e.Name(), "root")
		if !is || !e.IsDir() {
			continue
		}
		path, err := url.PathUnescape(name)
		if err != nil {
			return nil, errors.Trace(err)
		}
		all = append(all, Layer{Path: filepath.Join("/", path), Dir: filepath.Join(dir, layersDir, e.Name(), "upper")})
	}
	if info, err := os.Lstat(filepath.Join(dir, tmpDir)); err == nil && info.IsDir() {
		all = append(all, Layer{Path: "/tmp", Dir: filepath.Join(dir, tmpDir)})
	}
	return all, nil
}

// ofUnitd are the places on an isolated unit's machine that are unitd's, directories with a "/"
// at their end.
var ofUnitd = []string{
	"/var/lib/juju/", "/run/", "/proc/", "/sys/", "/dev/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/machine-id",
	"/etc/mtab", "/etc/os-release", "/etc/lsb-release", "/usr/bin/juju-exec", "/usr/bin/juju-run", "/usr/bin/snap",
}

// OfUnitd says whether a path on a cell's machine is what unitd has put there, and nothing that
// the unit has changed.
func OfUnitd(path string) bool {
	return slices.ContainsFunc(ofUnitd, func(of string) bool {
		return path == strings.TrimSuffix(of, "/") || strings.HasSuffix(of, "/") && strings.HasPrefix(path, of)
	})
}
