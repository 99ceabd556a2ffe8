package client

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"unsafe"
)

// The times that the client waits: for a process that stands ready to say that it can
// take the script. Then it waits as long as the script runs.
const readyAfter = 5 // seconds

// runWarm runs the script in a process that one which stands ready has forked; that is
// started if there is none. ran is false if the script hasn't begun.
func runWarm(real, zygote, script string, args []string) (code int, ran bool) {
	here, err := syscall.Getwd()
	if err != nil {
		return 0, false
	}
	key, ok := keyOf(real, zygote, script, here)
	if !ok || holdsMore() {
		return 0, false
	}
	address := addressOf(key)
	for range 2 {
		fd, err := dialWarm(address)
		if err != nil {
			if err != syscall.ECONNREFUSED || !stand(real, zygote, address, key, here) {
				return 0, false
			}
			if fd, err = dialWarm(address); err != nil {
				return 0, false
			}
		}
		again, code, ran := askWarm(fd, key, here, args)
		closeFD(fd)
		if !again {
			return code, ran
		}
	}
	return 0, false
}

// keyOf is what all calls have in common that one process may serve: what an interpreter
// reads as it starts, and whose hooks they are.
// The secret beside the script keeps others out who are on the same network.
func keyOf(real, zygote, script, here string) (key string, ok bool) {
	fd, err := syscall.Open(zygote[:len(zygote)-len(zygoteName)]+secretName, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer closeFD(fd)
	secret, err := readAll(fd, 1<<10)
	if err != nil || len(secret) == 0 {
		return "", false
	}
	var st syscall.Stat_t
	_ = syscall.Stat(real, &st)
	key = string(secret) + "\n" + real + " " + strconv.FormatUint(st.Ino, 36) + " " + strconv.FormatInt(st.Mtim.Nano(), 36) +
		"\n" + zygote + "\n" + script + "\n" + here + "\n" + strconv.Itoa(syscall.Geteuid()) + " " + strconv.Itoa(syscall.Getegid())
	for _, v := range syscall.Environ() {
		for _, prefix := range []string{"PYTHON", "LANG=", "LC_", "TZ=", "LD_", "VIRTUAL_ENV=", "HOME=", "JUJU_UNIT_NAME=", "JUJU_MODEL_UUID=", "JUJU_CHARM_DIR="} {
			if len(v) >= len(prefix) && v[:len(prefix)] == prefix {
				key += "\n" + v
			}
		}
	}
	return key, true
}

// holdsMore says whether the caller has given this process more files than the standard
// ones, by the numbers that shells have for them: a script that stands ready wouldn't get
// them. Nor is one that is started now to hold any others.
func holdsMore() bool {
	for fd := 3; fd < 256; fd++ {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno != 0 || flags&syscall.FD_CLOEXEC != 0 {
			continue
		}
		if fd < 10 {
			return true
		}
		syscall.CloseOnExec(fd)
	}
	return false
}

// addressOf is the name of the socket for a key, by two hashes: who has another key by
// chance is told so.
func addressOf(key string) string {
	const prime = 1099511628211
	a, b := uint64(14695981039346656037), uint64(0x9e3779b97f4a7c15)
	for i := range len(key) {
		a = (a ^ uint64(key[i])) * prime
		b = (b ^ uint64(key[len(key)-1-i])) * prime
	}
	return "unitd-warm." + strconv.FormatUint(a, 36) + "." + strconv.FormatUint(b, 36)
}

// dialWarm connects to a process that stands ready. It doesn't wait long, then or when it
// writes.
func dialWarm(address string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	limit := syscall.Timeval{Sec: readyAfter}
	_ = syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &limit)
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: "@" + address}); err != nil {
		closeFD(fd)
		return -1, err
	}
	return fd, nil
}

// stand starts a process that stands ready at the address; where another caller has just
// done so, that one's will do.
func stand(real, zygote, address, key, here string) bool {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer closeFD(fd)
	err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: "@" + address})
	if err == syscall.EADDRINUSE {
		return true
	}
	if err != nil || syscall.Listen(fd, 64) != nil {
		return false
	}
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer closeFD(null)
	var env []string
	for _, v := range syscall.Environ() {
		if len(v) < 10 || v[:5] != "JUJU_" && v[:10] != "UNITD_RUN=" {
			env = append(env, v)
		}
	}
	_, err = syscall.ForkExec(real, []string{real, zygote, key}, &syscall.ProcAttr{
		Dir: here, Env: env, Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(fd)}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	return err == nil
}

// askWarm has the script run and waits for its end. again: what was imported isn't what
// is there by now.
func askWarm(fd int, key, here string, args []string) (again bool, code int, ran bool) {
	peer, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil || peer.Pid == 0 || int(peer.Uid) != syscall.Geteuid() {
		return false, 0, false
	}
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	data := []byte(key + "\x00" + here + "\x00" + strconv.FormatInt(int64(umask), 8) + "\x00" + strconv.Itoa(syscall.Getpid()) + "\x00" + strconv.Itoa(len(args)))
	for _, a := range args {
		data = append(append(data, 0), a...)
	}
	for _, v := range syscall.Environ() {
		data = append(append(data, 0), v...)
	}
	n := len(data)
	data = append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, data...)
	sent, err := syscall.SendmsgN(fd, data, syscall.UnixRights(0, 1, 2), nil, 0)
	for err == nil && sent < len(data) {
		var n int
		n, err = syscall.Write(fd, data[sent:])
		sent += max(n, 0)
	}
	if err != nil {
		return false, 0, false
	}
	limit := syscall.Timeval{Sec: readyAfter}
	_ = syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit)
	switch word, _ := readLine(fd); word {
	case "ready":
	case "stale":
		return true, 0, false
	default:
		return false, 0, false
	}
	_ = syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{})
	code, ran = waitWarm(fd)
	return false, code, ran
}

// waitWarm says that the script is to run, passes on signals, and waits for its end,
// which becomes that of this process.
func waitWarm(fd int) (code int, ran bool) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	if writeAll(fd, []byte("go\n")) != nil {
		signal.Reset()
		return 0, false
	}
	switch word, pid := readLine(fd); word {
	case "pid":
		go func() {
			for s := range signals {
				_ = syscall.Kill(pid, s.(syscall.Signal))
			}
		}()
		letGo()
	case "no":
		signal.Reset()
		return 0, false
	}
	switch word, n := readLine(fd); word {
	case "exit":
		return n, true
	case "signal":
		signal.Reset()
		if s := syscall.Signal(n); s == syscall.SIGKILL || s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP {
			_ = syscall.Kill(syscall.Getpid(), s)
			_, _ = syscall.Select(0, nil, nil, nil, &syscall.Timeval{Sec: 1}) // until it has come
		}
		return 128 + n, true
	}
	_ = writeAll(2, []byte("python3: the process that stood ready for the hook has ended\n"))
	return failed, true
}

// letGo leaves the standard input and output to the script alone: who waits for their
// ends waits for that.
func letGo() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = syscall.Dup3(null, 0, 0)
	_ = syscall.Dup3(null, 1, 0)
	closeFD(null)
}

// readLine reads a word and a number, up to the end of the line; the word is empty if it
// didn't come in time.
func readLine(fd int) (word string, n int) {
	var line, one []byte
	one = make([]byte, 1)
	for {
		got, err := syscall.Read(fd, one)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || got == 0 {
			return "", 0
		}
		if one[0] == '\n' {
			break
		}
		line = append(line, one[0])
	}
	word = string(line)
	for i := range len(word) {
		if word[i] == ' ' {
			n, _ = strconv.Atoi(word[i+1:])
			return word[:i], n
		}
	}
	return word, 0
}

func isTerminal(fd int) bool {
	var t syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TCGETS, uintptr(unsafe.Pointer(&t)))
	return errno == 0
}
