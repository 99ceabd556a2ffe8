package runner

import "golang.org/x/sys/unix"

// awaitEnd waits until a child has ended, and leaves it to be waited for; false: it can't.
func awaitEnd(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
