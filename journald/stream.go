package journald

import (
	"fmt"
	"os"
	"syscall"
)

// StreamVariable names the file by which systemd has connected a service's output with the
// journal, as "device:inode". Programs that a service starts inherit it, whatever they print
// to. Source: docs/spec/service-manager.md §5.
const StreamVariable = "JOURNAL_STREAM"

// IsStream says whether a file is the one that the value of StreamVariable names.
func IsStream(f *os.File, value string) bool {
	st, err := f.Stat()
	if err != nil || value == "" {
		return false
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	return ok && streamOf(uint64(own.Dev), own.Ino) == value //nolint:unconvert // of another type elsewhere
}

func streamOf(device, inode uint64) string { return fmt.Sprintf("%d:%d", device, inode) }
