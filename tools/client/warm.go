package client

import "syscall"

// pythonName is what the client is called in the directory that has a unit's hooks find
// it as Python; zygoteName is the script beside it. See package tools, Warm.
const (
	pythonName = "python3"
	zygoteName = "zygote.py"
	secretName = "secret"
)

// isPython says whether the client was called as Python: by its own name in that
// directory, or by that of a link which a charm has made to what it found on its PATH.
func isPython(name string) bool { return len(name) >= 6 && name[:6] == "python" }

// python is the interpreter for a hook: the script runs in a process that one which
// stands ready has forked, or else in the real interpreter, which this program becomes.
// Source: docs/warm-python.md.
func python(args []string) (code int) {
	dir := home(args[0])
	real := realPython(dir)
	if real == "" {
		_ = writeAll(2, []byte("python3: not found\n"))
		return 127
	}
	if script, ok := warmable(args, dir); ok {
		if code, ran := runWarm(real, dir+"/"+zygoteName, script, args[1:]); ran {
			return code
		}
	}
	args[0] = real
	err := syscall.Exec(real, args, syscall.Environ())
	_ = writeAll(2, []byte(real+": "+err.Error()+"\n"))
	return 126
}

// home is the directory of the program that was called so.
func home(name string) string {
	if base(name) == name {
		name = onPath(name)
	}
	for range 10 {
		target := make([]byte, 4096)
		n, err := syscall.Readlink(name, target)
		if err != nil || n <= 0 || base(string(target[:n])) != pythonName {
			break // what it leads to from there is the client's own name
		}
		to := string(target[:n])
		if to[0] != '/' {
			to = name[:len(name)-len(base(name))] + to
		}
		name = to
	}
	return trimSlash(name[:len(name)-len(base(name))])
}

func trimSlash(dir string) string {
	for len(dir) > 1 && dir[len(dir)-1] == '/' {
		dir = dir[:len(dir)-1]
	}
	return dir
}

// realPython is the first python3 on the PATH that isn't this program.
func realPython(own string) string {
	var self, st syscall.Stat_t
	_ = syscall.Stat(own+"/"+pythonName, &self)
	dirs, _ := syscall.Getenv("PATH")
	for start, i := 0, 0; i <= len(dirs); i++ {
		if i < len(dirs) && dirs[i] != ':' {
			continue
		}
		dir := dirs[start:i]
		start = i + 1
		path := dir + "/" + pythonName
		if dir == "" || trimSlash(dir) == own || syscall.Stat(path, &st) != nil {
			continue
		}
		const executable = 1
		if st.Dev == self.Dev && st.Ino == self.Ino || st.Mode&syscall.S_IFMT != syscall.S_IFREG || syscall.Access(path, executable) != nil {
			continue
		}
		return path
	}
	return ""
}

// cold are the variables with which an interpreter does something as it starts that one
// which has started can't.
var cold = []string{"JUJU_DEBUG_AT", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "PYTHONINSPECT", "PYTHONPROFILEIMPORTTIME", "PYTHONTRACEMALLOC", "PYTHONFAULTHANDLER", "PYTHONDEVMODE", "PYTHONSAFEPATH"}

// warmable says whether a call may run in a process that stands ready: it is of a script
// of the charm, without options, and nobody looks over its shoulder.
func warmable(args []string, dir string) (script string, ok bool) {
	if len(args) < 2 || isTerminal(0) {
		return "", false
	}
	script = args[1]
	const suffix = ".py"
	if script == "" || script[0] == '-' || len(script) < len(suffix) || script[len(script)-len(suffix):] != suffix {
		return "", false
	}
	for _, name := range cold {
		if v, _ := syscall.Getenv(name); v != "" {
			return "", false
		}
	}
	charm, _ := syscall.Getenv("JUJU_CHARM_DIR")
	here, err := syscall.Getwd()
	if charm == "" || err != nil || !isWithin(script, here, charm) {
		return "", false
	}
	var st syscall.Stat_t
	if syscall.Stat(script, &st) != nil || syscall.Stat(dir+"/"+zygoteName, &st) != nil {
		return "", false // it is switched off, or there is nothing to run
	}
	return script, true
}

// isWithin says whether a path, as it is from here, is below a directory.
func isWithin(path, here, dir string) bool {
	if path[0] != '/' {
		if len(path) > 2 && path[:2] == "./" {
			path = path[2:]
		}
		path = here + "/" + path
	}
	dir = trimSlash(dir) + "/"
	return len(path) > len(dir) && path[:len(dir)] == dir
}
