package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/mounts"
)

func TestMountedIn(t *testing.T) {
	t.Parallel()
	all := []mounts.Mount{{At: "/"}, {At: "/srv/a controller/storage/data-0/fs"}, {At: "/srv/another"}}
	for _, tt := range []struct{ name, dir, want string }{
		{"below a directory with a blank", "/srv/a controller", `["/srv/a controller/storage/data-0/fs"]`},
		{"at the directory itself", "/srv/another", `["/srv/another"]`},
		{"not at one whose name only begins so", "/srv/anoth", `[]`},
	} {
		if got := fmt.Sprintf("%q", mountedIn(all, tt.dir)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
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
