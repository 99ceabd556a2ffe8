package journald

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestALargeRecordIsInASealedFile(t *testing.T) {
	t.Parallel()
	path, journal := listen(t)
	socket, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	large := strings.Repeat("stack\n", 1<<20) // more than any buffer of a socket
	slog.New(Handler{Socket: socket, Identifier: "unitd"}).Error(large, "unit", "a/0")
	got, file := receive(t, journal)
	if !file || got[0].Value != large+" unit=a/0" || got[3] != (Field{"UNITD_UNIT", "a/0"}) {
		t.Errorf("in a file: %v; %d fields, the first of %d bytes", file, len(got), len(got[0].Value))
	}
}

// sealed is what is in the file that was sent. It must be one that its sender can't change.
func sealed(t *testing.T, oob []byte) []byte {
	t.Helper()
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		t.Fatal(err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("%v, %v", fds, err)
	}
	f := os.NewFile(uintptr(fds[0]), "sent")
	defer f.Close()
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if want := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL; err != nil || seals != want {
		t.Errorf("the seals are %x, %v", seals, err)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
