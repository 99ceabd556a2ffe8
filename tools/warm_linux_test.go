package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// warmCharm is a charm directory with src/app.py, and a Warm for it.
type warmCharm struct {
	t         *testing.T
	dir       string
	warm      string // the directory that comes first on the PATH
	real      string // the directory of the real Python
	variables []string
}

func newWarmCharm(t *testing.T) *warmCharm {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := &warmCharm{t: t, dir: t.TempDir(), real: filepath.Dir(strings.TrimSpace(string(out)))}
	if base := filepath.Base(strings.TrimSpace(string(out))); base != pythonName {
		c.real = t.TempDir()
		if err := os.Symlink(strings.TrimSpace(string(out)), filepath.Join(c.real, pythonName)); err != nil {
			t.Fatal(err)
		}
	}
	tools := NewDir(filepath.Join(t.TempDir(), "tools"), LinksTo("/client"))
	w := NewWarm(tools, theClient(t))
	for range 2 {
		if err := w.Mend(); err != nil {
			t.Fatal(err)
		}
	}
	c.warm = filepath.Join(tools.Path(), w.Name())
	c.write("venv/heavy.py", "import json, decimal\nloaded = __import__('os').getpid()\n")
	t.Cleanup(func() {
		if err := os.Remove(filepath.Join(c.warm, zygoteName)); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		c.wantNone()
	})
	return c
}

func (c *warmCharm) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// command is a call of python3 in the charm directory; cold: of the real one.
func (c *warmCharm) command(cold bool, args ...string) *exec.Cmd {
	path := c.real + ":/usr/bin:/bin"
	if !cold {
		path = c.warm + ":" + path
	}
	cmd := exec.Command("/usr/bin/env", append([]string{"python3"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = append([]string{"PATH=" + path, "JUJU_CHARM_DIR=" + c.dir, "JUJU_UNIT_NAME=app/0", "PYTHONPATH=lib:venv:src", "LANG=C.UTF-8"}, c.variables...)
	return cmd
}

// processes are those that stand ready, or have been forked of one.
func (c *warmCharm) processes() (pids []string) {
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range found {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), filepath.Join(c.warm, zygoteName)) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// wantNone waits until none stands ready.
func (c *warmCharm) wantNone() {
	c.t.Helper()
	for began := time.Now(); len(c.processes()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			c.t.Fatalf("processes are left: %v", c.processes())
		}
	}
}

// warmed has src/app.py run until it finds imported what it imports.
func (c *warmCharm) warmed() {
	c.t.Helper()
	c.write("src/app.py", "import heavy, os\nprint(heavy.loaded != os.getpid())\n")
	for range 200 {
		if o := exitOf(c.t, c.command(false, "src/app.py")); o.stdout == "True\n" {
			return
		} else if o.stdout != "False\n" || o.code != 0 || o.stderr != "" {
			c.t.Fatalf("%+v", o)
		}
	}
	c.t.Fatal("nothing is imported beforehand")
}

// TestAWarmPythonDoesWhatAPythonDoes: scripts print the same, and end alike, whether they
// are run by the real Python, as the first one in a process that stands ready, or later.
func TestAWarmPythonDoesWhatAPythonDoes(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"end":          "pass",
		"output":       "import sys; print('out'); print('err', file=sys.stderr); sys.stdout.write('no end')",
		"arguments":    "import sys; print(sys.argv, sys.path[0].endswith('/src'), sys.executable.split('/')[-1], __name__, __file__)",
		"exit":         "import sys; sys.exit(3)",
		"exit-text":    "raise SystemExit('that is why')",
		"exit-none":    "raise SystemExit",
		"exit-large":   "raise SystemExit(256 + 7)",
		"os-exit":      "import os; print('lost'); os._exit(9)",
		"exception":    "def f():\n    raise ValueError('no')\ntry:\n    f()\nexcept ValueError as e:\n    raise KeyError(1) from e",
		"syntax":       "x = (",
		"hook-of-own":  "import sys\nsys.excepthook = lambda *a: print('seen', a[1])\n1/0",
		"at-exit":      "import atexit; atexit.register(print, 'at exit'); print('before')",
		"threads":      "import threading, time\ndef f():\n    time.sleep(0.05); print('thread')\nthreading.Thread(target=f).start()",
		"signal":       "import os, signal; print('x', flush=True); os.kill(os.getpid(), signal.SIGTERM)",
		"killed":       "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
		"handlers":     "import signal; print([signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP)], signal.getsignal(signal.SIGINT) is signal.default_int_handler)",
		"variables":    "import os; print(sorted(k for k in os.environ if k not in ('_', 'PATH')), os.environ['JUJU_X'], os.environ['PATH'] != '')",
		"child":        "import subprocess; print(subprocess.run(['sh', '-c', 'echo $JUJU_X; pwd; umask'], stdout=subprocess.PIPE, text=True).stdout)",
		"exec":         "import os, sys; sys.stdout.flush(); os.execvp('sh', ['sh', '-c', 'echo became; exit 4'])",
		"input":        "import sys; print(repr(sys.stdin.read()))",
		"here":         "import os; print(os.getcwd(), oct(os.umask(0)))",
		"own-module":   "import helper; print(helper.__file__)",
		"main":         "import __main__, pickle\nclass A: pass\nprint(__main__.A is A, pickle.loads(pickle.dumps(A())).__class__ is A)",
		"fork":         "import os, sys\nif os.fork() == 0:\n    print('child'); sys.stdout.flush(); os._exit(0)\nos.wait(); print('parent')",
		"multiprocess": "import multiprocessing\ndef f(q): q.put(7)\nif __name__ == '__main__':\n    c = multiprocessing.get_context('fork'); q = c.Queue(); p = c.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join()",
		"random":       "import random, secrets; print(random.random() == random.random())",
		"warnings":     "import warnings; warnings.warn('old')",
		"closed":       "import sys; sys.stdout.close()",
		"large":        "print('x' * 1000000)",
		"files":        "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:4])",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newWarmCharm(t)
			c.variables = []string{"JUJU_X=y z"}
			c.write("src/app.py", script+"\n")
			c.write("src/helper.py", "")
			run := func(cold bool) outcome {
				cmd := c.command(cold, "src/app.py", "one", "", "--two=3")
				cmd.Stdin = strings.NewReader("what is\nread")
				return exitOf(t, cmd)
			}
			want := run(true)
			for i := range 3 {
				if got := run(false); got != want {
					t.Errorf("run %d: %+v, want %+v", i+1, short(got), short(want))
				}
			}
			if len(c.processes()) == 0 {
				t.Error("no process stands ready")
			}
		})
	}
}

func short(o outcome) string { return fmt.Sprintf("%.600q %.600q %d", o.stdout, o.stderr, o.code) }

func TestAWarmPythonHasImportedWhatIsThereNow(t *testing.T) {
	t.Parallel()
	c := newWarmCharm(t)
	c.warmed()
	c.write("venv/heavy.py", "loaded = 'anew'\n")
	c.write("src/app.py", "import heavy\nprint(heavy.loaded)\n")
	if o := exitOf(t, c.command(false, "src/app.py")); o.stdout != "anew\n" {
		t.Errorf("%+v", o)
	}
	// The charm's own code may change from hook to hook.
	for i := range 3 {
		c.write("src/own.py", fmt.Sprintf("n = %d%s\n", i, strings.Repeat(" ", i)))
		c.write("src/app.py", "import own, heavy\nprint(own.n)\n")
		if o := exitOf(t, c.command(false, "src/app.py")); o.stdout != fmt.Sprintln(i) {
			t.Errorf("%+v", o)
		}
	}
}

func TestOtherCallsAreTheRealPythons(t *testing.T) {
	t.Parallel()
	c := newWarmCharm(t)
	c.write("src/app.py", "import sys; print(len(sys.argv))\n")
	for name, args := range map[string][]string{
		"code": {"-c", "print(1)"}, "module": {"-m", "src.app"}, "option": {"-u", "src/app.py"}, "missing": {"src/none.py"}, "none": nil, "outside": {"/dev/null"},
	} {
		want, got := exitOf(t, c.command(true, args...)), exitOf(t, c.command(false, args...))
		want.stderr, got.stderr = strings.ReplaceAll(want.stderr, c.real+"/", ""), strings.ReplaceAll(got.stderr, c.real+"/", "")
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	link := filepath.Join(c.dir, "python") // as charms make one that have no Python of their own
	if err := os.Symlink(filepath.Join(c.warm, pythonName), link); err != nil {
		t.Fatal(err)
	}
	by := c.command(true, "-c", "print(2)")
	by.Path = link
	by.Args[0], by.Args = link, append([]string{link}, by.Args[2:]...)
	if o := exitOf(t, by); o.stdout != "2\n" {
		t.Errorf("%+v", o)
	}
	c.variables = []string{"JUJU_DEBUG_AT=all"}
	if o := exitOf(t, c.command(false, "src/app.py")); o.stdout != "1\n" {
		t.Errorf("%+v", o)
	}
	if p := c.processes(); len(p) > 0 {
		t.Errorf("processes stand ready: %v", p)
	}
	empty := c.command(false, "src/app.py")
	empty.Env = []string{"PATH=" + c.warm}
	if o := exitOf(t, empty); o.code != 127 {
		t.Errorf("%+v", o)
	}
}

func TestWarmScriptsRunAtOnce(t *testing.T) {
	t.Parallel()
	c := newWarmCharm(t)
	c.write("src/app.py", "import sys, time\ntime.sleep(0.1)\nprint(sys.argv[1])\nsys.exit(int(sys.argv[1]))\n")
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if o := exitOf(t, c.command(false, "src/app.py", fmt.Sprint(i))); o.stdout != fmt.Sprintln(i) || o.code != i || o.stderr != "" {
				t.Errorf("%d: %+v", i, o)
			}
		})
	}
	all.Wait()
}

// TestAWarmScriptEndsWithItsCaller: who is killed takes with him what runs for him; who
// gets a signal passes it on.
func TestAWarmScriptEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	c := newWarmCharm(t)
	c.warmed()
	c.write("src/app.py", `import os, signal, subprocess, sys, time
def term(*_):
    os.write(1, b"told\n")
    sys.exit(5)
signal.signal(signal.SIGTERM, term)
child = subprocess.Popen(["sleep", "1000"])
print(os.getpid(), child.pid, flush=True)
while True:
    time.sleep(0.1) # a signal that comes just before a sleep is seen after it
`)
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		cmd := c.command(false, "src/app.py")
		stderr, err := os.Create(filepath.Join(c.dir, "stderr")) // which the child keeps open
		if err != nil {
			t.Fatal(err)
		}
		defer stderr.Close()
		cmd.Stderr = stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var script, child int
		if _, err := fmt.Fscan(out, &script, &child); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		gone := []int{script, child}
		if s == syscall.SIGTERM {
			if code := cmd.ProcessState.ExitCode(); code != 5 {
				said, _ := os.ReadFile(stderr.Name())
				t.Errorf("exit code %d: %s", code, said)
			}
			gone = gone[:1]
			if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
				t.Error(err) // what a script leaves running goes on
			}
		}
		for _, pid := range gone {
			for began := time.Now(); syscall.Kill(pid, 0) == nil && !isZombie(pid); time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > 30*time.Second {
					t.Fatalf("%v: %d goes on", s, pid)
				}
			}
		}
	}
}

func isZombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// TestAPythonThatStandsReadyAndDoesNotAnswerRunsNothingTwice: the script is run, once.
func TestAPythonThatStandsReadyAndDoesNotAnswerRunsNothingTwice(t *testing.T) {
	t.Parallel()
	c := newWarmCharm(t)
	c.warmed()
	c.write("src/app.py", "open('runs', 'a').write('x')\n")
	for _, pid := range c.processes() {
		var n int
		fmt.Sscan(pid, &n)
		if err := syscall.Kill(n, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(n, syscall.SIGKILL) })
		defer func() { _ = syscall.Kill(n, syscall.SIGCONT) }()
	}
	// Its output goes nowhere: the files that it has sent are open until they are read.
	if err := c.command(false, "src/app.py").Run(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range c.processes() {
		var n int
		fmt.Sscan(pid, &n)
		_ = syscall.Kill(n, syscall.SIGCONT)
	}
	if o := exitOf(t, c.command(false, "src/app.py")); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	if b, err := os.ReadFile(filepath.Join(c.dir, "runs")); err != nil || string(b) != "xx" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestModulesThatStartThreadsAreNotImportedBeforehand, as a fork would lose the threads.
func TestModulesThatStartThreadsAreNotImportedBeforehand(t *testing.T) {
	t.Parallel()
	c := newWarmCharm(t)
	c.write("venv/heavy.py", "import threading, queue\nasked, said = queue.Queue(), queue.Queue()\n"+
		"threading.Thread(target=lambda: [said.put(asked.get()) for _ in range(9)], daemon=True).start()\n")
	c.write("src/app.py", "import heavy\nheavy.asked.put('x')\nprint(heavy.said.get(timeout=20))\n")
	for began := time.Now(); !c.isCold(); {
		if o := exitOf(t, c.command(false, "src/app.py")); o.stdout != "x\n" || o.code != 0 {
			t.Fatalf("%+v", o)
		}
		if time.Since(began) > time.Minute {
			t.Fatal("it goes on importing them")
		}
	}
	if o := exitOf(t, c.command(false, "src/app.py")); o.stdout != "x\n" || o.code != 0 {
		t.Fatalf("%+v", o)
	}
}

// isCold says whether what stands ready imports nothing beforehand.
func (c *warmCharm) isCold() bool {
	for _, pid := range c.processes() {
		if line, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.HasSuffix(string(line), "\x00cold\x00") {
			return true
		}
	}
	return false
}

// TestAWarmScriptHoldsNoFilesOfItsCaller: who closes the standard files has none open, and
// who stands ready has none of a hook's.
func TestAWarmScriptHoldsNoFilesOfItsCaller(t *testing.T) {
	t.Parallel()
	c := newWarmCharm(t)
	c.warmed()
	c.write("src/app.py", `import os, time
if os.fork():
    os._exit(0)
null = os.open("/dev/null", os.O_RDWR)
for fd in range(3):
    os.dup2(null, fd)
while os.path.exists("goes-on"):
    time.sleep(0.02)
`)
	c.write("goes-on", "")
	end := func() { _ = os.Remove(filepath.Join(c.dir, "goes-on")) }
	defer end()
	late := time.AfterFunc(time.Minute, end)
	if o := exitOf(t, c.command(false, "src/app.py")); o.code != 0 || !late.Stop() {
		t.Errorf("%+v, once what it has left running was over", o)
	}
	end()
	// A lock of the shell's is the real Python's as well.
	c.write("src/app.py", "import os, sys\nos.fstat(9)\nprint('zygote' in ' '.join(sys.orig_argv))\n")
	shell := c.command(false)
	shell.Path, shell.Args = "/bin/sh", []string{"sh", "-c", "exec 9>lock; exec python3 src/app.py"}
	if o := exitOf(t, shell); o.stdout != "False\n" {
		t.Errorf("%+v", o)
	}
}

// TestOtherModulesOfTheSameNameAreNotTaken for those that a script has found where only it
// looks.
func TestOtherModulesOfTheSameNameAreNotTaken(t *testing.T) {
	t.Parallel()
	c := newWarmCharm(t)
	c.write("vendor/heavy.py", "loaded = 'vendor'\n")
	c.write("src/app.py", "import sys\nsys.path.insert(0, 'vendor')\nimport heavy\nprint(heavy.loaded)\n")
	for range 4 {
		if o := exitOf(t, c.command(false, "src/app.py")); o.stdout != "vendor\n" || o.code != 0 {
			t.Fatalf("%+v", o)
		}
	}
}
