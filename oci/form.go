package oci

import (
	"os"
	"strings"

	"github.com/juju/errors"
)

// Form is how layers are unpacked, which depends on who is to mount them.
type Form string

const (
	// Root is for root of the host: owners are the image's, and overlay's
	// attributes are in the name space trusted.
	Root Form = "root"
	// Mapped is for root of a user name space with many ids: owners are the image's,
	// and overlay's attributes are in the name space user: it has to be mounted
	// with the option userxattr.
	Mapped Form = "mapped"
	// Single is for who has one id: all belongs to that, and the mount needs userxattr.
	Single Form = "single"
)

// FormHere is the form for this process. It isn't that of a process in a user name
// space which this one makes.
func FormHere() (Form, error) {
	if os.Geteuid() != 0 {
		return Single, nil
	}
	b, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return "", errors.Annotate(err, "cannot tell which ids this process has")
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	f := strings.Fields(lines[0])
	switch {
	case len(lines) == 1 && len(f) == 3 && f[0] == "0" && f[1] == "0" && f[2] == "4294967295":
		return Root, nil
	case len(lines) == 1 && len(f) == 3 && f[2] == "1":
		return Single, nil
	}
	return Mapped, nil
}

// UserXattr says whether layers of that form are mounted with the option userxattr.
func (f Form) UserXattr() bool { return f != Root }

// opaque is the attribute by which a directory hides those below it.
func (f Form) opaque() string {
	if f == Root {
		return "trusted.overlay.opaque"
	}
	return "user.overlay.opaque"
}

// limits bound what one layer may be.
type limits struct {
	bytes   int64 // of its files, and of the tar file
	entries int
	names   int // bytes that names of directories take in memory
}

// defaultLimits are more than any image that serves a purpose has.
var defaultLimits = limits{bytes: 32 << 30, entries: 2_000_000, names: 64 << 20}

// The limits of one path, which cost memory and open files.
const (
	maxPath  = 4000
	maxDepth = 100
)

// contents is what was unpacked.
type contents struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	// Skipped are the device nodes, the first ones, and how many there are.
	Skipped  []string `json:"skipped,omitempty"`
	SkippedN int      `json:"skippedCount,omitempty"`
	// Implied are directories that the layer has files in, and doesn't have itself.
	Implied []string `json:"implied,omitempty"`
}

// attributes are what overlayfs shows of the uppermost directory of a name.
type attributes struct {
	Mode uint32 `json:"mode"`
	UID  uint32 `json:"uid"`
	GID  uint32 `json:"gid"`
}
