package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMountedIn(t *testing.T) {
	t.Parallel()
	const list = `22 1 0:20 / / rw - ext4 /dev/sda1 rw
23 22 0:21 / /srv/a\040controller/storage/data-0/fs rw - tmpfs tmpfs rw
24 22 0:22 / /srv/a\134b\011c\012d rw - tmpfs tmpfs rw
25 22 0:23 / /srv/another rw - tmpfs tmpfs rw
short
`
	for _, tt := range []struct{ name, dir, want string }{
		{"below a directory with a blank", "/srv/a controller", `["/srv/a controller/storage/data-0/fs"]`},
		{"at the directory itself", "/srv/another", `["/srv/another"]`},
		{"not at one whose name only begins so", "/srv/anoth", `[]`},
		{"with a backslash, a tab and a line end", "/srv/a\\b\tc\nd", `["/srv/a\\b\tc\nd"]`},
	} {
		there, err := mountedIn(strings.NewReader(list), tt.dir)
		if got := fmt.Sprintf("%q", there); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestWhatIsMountedIsSeenThroughALink(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/mountinfo"); err != nil {
		t.Skip("the kernel has no list of mounts here")
	}
	link := filepath.Join(t.TempDir(), "data")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	want := "cannot remove " + link + ": /proc is still mounted"
	if err := notMounted(link); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := notMounted(filepath.Join(link, "nothing-of-that-name")); err != nil {
		t.Errorf("a directory that isn't there: %v", err)
	}
}
