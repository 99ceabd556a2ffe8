package sqlite

import (
	"cmp"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// hostUp is how long this host has been up, with the time that it slept, and the
// id of its boot. All of a host's processes have the same.
func hostUp() (boot string, up time.Duration) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return "", time.Duration(time.Now().UnixNano())
	}
	return bootID(), time.Duration(t.Nano())
}

// bootID is read once: no process outlives its boot.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it all boots are one
	return cmp.Or(strings.TrimSpace(string(id)), "unknown")
})
