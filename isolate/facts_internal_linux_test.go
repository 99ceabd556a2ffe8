package isolate

import (
	"os"
	"strings"
	"testing"
)

// TestReleasesAreComparedByNumbers, whatever follows them.
func TestReleasesAreComparedByNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		release, than string
		older         bool
	}{
		{"5.4.0-150-generic", "5.11", true},
		{"5.11.0", "5.11", false},
		{"6.1.0-13-amd64", "5.19", false},
		{"5.9", "5.19", true},
		{"unheard-of", "5.19", false},
	} {
		if got := older(c.release, c.than); got != c.older {
			t.Errorf("%s is older than %s: %v", c.release, c.than, got)
		}
	}
}

// TestFactsAreThoseOfThisUser, each with a value.
func TestFactsAreThoseOfThisUser(t *testing.T) {
	t.Parallel()
	cells := &Cells{Dir: t.TempDir()}
	defer cells.Close()
	names := map[string]string{}
	for _, f := range cells.Facts() {
		if f.Value == "" || strings.Contains(f.Value+f.Do, "\n") {
			t.Errorf("%+v", f)
		}
		names[f.Name] = f.Value
	}
	want := "subordinate ids"
	if os.Geteuid() == 0 {
		want = "inotify instances"
	}
	if names[want] == "" || !strings.HasPrefix(names["kernel"], "Linux ") {
		t.Errorf("the facts are %q", names)
	}
}
