package isolate

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/juju/errors"
)

// watchesEach is how many inotify instances a machine with systemd needs: 7 once it has
// booted, and some for services. Source: docs/spec/machine-isolation.md §3.
const watchesEach = 10

// watchLimit is how many instances one user may have on this host.
const watchLimit = "/proc/sys/fs/inotify/max_user_instances"

// checkWatches looks whether another machine with systemd can be told of changes of
// files. Without, services in it would fail one by one, each in its own words. All
// machines' count as root's, who has made their name spaces.
func checkWatches() error {
	b, err := os.ReadFile(watchLimit)
	if err != nil {
		return nil // a kernel that has no limit
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return nil
	}
	return watchesLeft(watchesUsed(), most)
}

func watchesLeft(used, most int) error {
	if used+watchesEach <= most {
		return nil
	}
	return errors.WithType(errors.Errorf("a machine with systemd needs %d of the host's inotify instances, of which %d of %d are in use: raise the limit, as with \"sysctl fs.inotify.max_user_instances=1024\"",
		watchesEach, used, most), ErrNoRights)
}

// watchesUsed are the instances of root, and of users that root has given to machines. Of
// those that programs share each is counted for itself: rather too many than too few.
func watchesUsed() (n int) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		st, err := os.Stat(p)
		if err != nil {
			continue // it has ended
		}
		if own, ok := st.Sys().(*syscall.Stat_t); !ok || own.Uid != 0 && own.Uid < firstNumber {
			continue
		}
		files, err := os.ReadDir(filepath.Join(p, "fd"))
		if err != nil {
			continue
		}
		for _, f := range files {
			if to, err := os.Readlink(filepath.Join(p, "fd", f.Name())); err == nil && to == "anon_inode:inotify" {
				n++
			}
		}
	}
	return n
}
