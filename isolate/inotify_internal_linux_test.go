package isolate

import (
	"strings"
	"testing"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// TestTheLimitOfMachinesIsToldBeforeItIsMet, with what to do.
func TestTheLimitOfMachinesIsToldBeforeItIsMet(t *testing.T) {
	t.Parallel()
	if err := watchesLeft(118, 128); err != nil {
		t.Error(err)
	}
	if err := watchesLeft(119, 128); !errors.Is(err, ErrNoRights) || !strings.Contains(err.Error(), "119 of 128 are in use: raise the limit") {
		t.Error(err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(fd)
	if unix.Geteuid() == 0 && watchesUsed() < 1 {
		t.Error("this process's own isn't counted")
	}
}
