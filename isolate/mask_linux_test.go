package isolate_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHostUnmountingShowsNothingOfTheAgentsFiles to root inside, who may unmount all
// that was mounted: in a cell that is new, and in one of an earlier start.
func TestHostUnmountingShowsNothingOfTheAgentsFiles(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can hide files so that root inside can't undo it")
	}
	for name, other := range map[string]bool{"in the root's file system": false, "in another one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			above, err := os.MkdirTemp("/var/tmp", "unitd-isolate-")
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(above) })
			if other {
				if err := unix.Mount("unitd-test", above, "tmpfs", 0, "size=16m"); err != nil {
					t.Skipf("nothing can be mounted here: %v", err)
				}
				t.Cleanup(func() { must(t, unix.Unmount(above, unix.MNT_DETACH)) })
			}
			unmountInside(t, above)
		})
	}
}

func unmountInside(t *testing.T, above string) {
	t.Helper()
	w, spec := secretiveIn(t, above)
	must(t, os.Chmod(above, 0o751))
	must(t, os.Chown(above, 12, 34))
	c := w.openBy(spec)
	want(t, c, uncover(w.dir), "unmounted")
	want(t, c, "stat -c '%a %u %g' "+above+"; cat "+above+"/beside", "751 12 34\nbeside")
	want(t, c, "chmod 711 "+above, "")
	want(t, c, "mkdir "+w.dir+"/own && echo written >"+w.dir+"/own/file && cat "+w.dir+"/own/file && rm -r "+w.dir+"/own", "written")
	endInit(t, c)
	c = w.openBy(spec)
	want(t, c, "stat -c %a "+above, "711")
	want(t, c, uncover(w.dir), "unmounted")
	for _, path := range []string{"secret.key", "agents/unit-app-1/theirs"} {
		if _, err := os.Stat(filepath.Join(w.dir, path)); err != nil {
			t.Errorf("the host's: %v", err)
		}
	}
}

// uncover is what unmounts all that is mounted at a directory, or in it, says
// whether there was something, and what is there then.
func uncover(dir string) string {
	return "for d in $(awk -v at=" + dir + ` '$2 == at || index($2, at "/") == 1 {print $2}' /proc/mounts); do umount -l $d 2>/dev/null && echo unmounted; done | uniq; ` +
		"ls -A " + dir + "; cat " + dir + "/secret.key 2>/dev/null; true"
}
