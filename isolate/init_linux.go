package isolate

import (
	"bufio"
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// Main is this program as a cell's init, as the program that enters one, or as what
// has the subordinate ids of the agent's user; ok says that the arguments, os.Args,
// are of those. Call it first of all. Where it hasn't to wait any more, as one of
// those with ids of its own, other arguments are for whoever knows them.
func Main(args []string) (code int, ok bool) {
	switch {
	case len(args) == 2 && args[1] == InitCommand:
		return initMain(), true
	case len(args) == 2 && args[1] == ReapCommand:
		reapAll()
		return 1, true
	case len(args) == 2 && args[1] == AttachCommand:
		return attachMain(), true
	case len(args) == 2 && args[1] == FilesCommand:
		return filesMain(), true
	case len(args) > 2 && args[1] == MappedCommand:
		return mappedMain(args[2:]), true
	case len(args) >= enterArgs && args[1] == EnterCommand:
		return enterMain(args[2:]), true
	case len(args) >= placeArgs && args[1] == PlaceCommand:
		return placeMain(args[2:]), true
	case len(args) >= placeArgs && args[1] == placedCommand:
		return placedMain(args[2:]), true
	}
	return 0, false
}

// firstFile is the number of the first file that a process is given besides its standard
// ones.
const firstFile = 3

// initMain is a cell's init: it makes the cell's root, says so, waits for the
// host's part, and then is the parent of what loses its own until somebody kills it.
func initMain() int {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	var s setUp
	if err := in.Decode(&s); err != nil {
		return 1
	}
	unix.Umask(0o022) // as a machine begins; nobody else's matters in there
	if s.Mapped.Many() {
		var err error
		if s.hands, err = asConn(s.handsFile()); err != nil {
			return 1
		}
	}
	if s.IDs.Many() {
		_ = syscall.Setgroups(nil) // those of the agent's user are nobody's in there; unix.Setgroups is for one thread
	}
	if s.First != nil {
		return firstMain(s, in)
	}
	if s.isSystem() {
		runtime.LockOSThread() // whose name space of cgroups is systemd's
	}
	// The agent knows by the end of the reports that this is the program that goes on.
	reports, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, aboveFiles)
	if err != nil {
		return 1
	}
	out := json.NewEncoder(os.NewFile(uintptr(reports), "reports"))
	without, err := makeRoot(s)
	if err != nil {
		rights := errors.Is(err, ErrNoRights)
		_ = out.Encode(report{Err: err.Error(), Rights: rights})
		return 1
	}
	if out.Encode(report{Without: without}) != nil {
		return 1
	}
	var ahead goAhead
	if err := in.Decode(&ahead); err != nil {
		return 1 // the agent was killed
	}
	if s.OwnNet {
		if err := setUpNetwork(s.Network, ahead.Link); err != nil {
			_ = out.Encode(report{Err: err.Error()})
			return 1
		}
	}
	if out.Encode(report{}) != nil {
		return 1
	}
	letGo()
	if s.isSystem() {
		_ = out.Encode(report{Err: becomeSystem(s).Error()})
		return 1
	}
	_ = out.Encode(report{Err: reapWithout(withhold(s.User, s.OwnNet)).Error()}) // it can't be with the rights
	return 1
}

// letGo leaves the files of whoever has started this process.
func letGo() {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	for fd := range 3 {
		_ = unix.Dup2(int(null.Fd()), fd)
	}
}

// reapAll reaps all that ends in the cell and has lost its parent. Signals are taken:
// nobody inside can end it.
func reapAll() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	for {
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			if err != syscall.EINTR && (err != nil || pid <= 0) {
				break
			}
		}
		<-signals
	}
}
