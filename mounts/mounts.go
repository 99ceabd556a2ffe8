// Package mounts reads what is mounted where, as the kernel says it to a process:
// proc_pid_mountinfo(5).
package mounts

import (
	"bufio"
	"io"
	"os"
	"strings"

	"github.com/juju/errors"
)

// Mount is a file system that is mounted, or a part of one.
type Mount struct {
	// Device is by which the kernel knows the file system, "8:1".
	Device string
	// Root is the part, as an absolute path in the file system, and At where it is
	// mounted, an absolute path without links.
	Root, At string
	// Kind is the file system's, "ext4".
	Kind string
}

// Own are the mounts that this process sees, in the kernel's order. The error is
// fs.ErrNotExist where there is no such list, as it isn't on macOS.
func Own() ([]Mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	return Read(f)
}

// Read reads such a list. Lines of another form are left out.
func Read(list io.Reader) ([]Mount, error) {
	var all []Mount
	lines := bufio.NewReader(list)
	for {
		line, err := lines.ReadString('\n')
		if m, ok := parse(line); ok {
			all = append(all, m)
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
	}
}

// parse reads a line: 30 23 0:26 /root /mount/point rw,… shared:4 - ext4 /dev/sda1 rw
func parse(line string) (m Mount, ok bool) {
	own, of, ok := strings.Cut(line, " - ")
	f := strings.Fields(own)
	if !ok || len(f) < 5 {
		return Mount{}, false
	}
	kind, _, _ := strings.Cut(of, " ")
	return Mount{Device: f[2], Root: plain(f[3]), At: plain(f[4]), Kind: kind}, true
}

// plain undoes what the kernel does to blanks, line ends and backslashes in paths.
func plain(path string) string {
	if !strings.Contains(path, `\`) {
		return path
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
