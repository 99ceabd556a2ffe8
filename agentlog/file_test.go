package agentlog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// dying says in the environment of this very program that it is a process that logs to a file
// that it sets aside, and at which step it kills itself: "before 3", "half 3", "after 3".
const dying = "UNITD_TEST_DIE"

func TestMain(m *testing.M) {
	if at, ok := os.LookupEnv(dying); ok {
		die(at)
	}
	os.Exit(m.Run())
}

// small is a file that is full at so many bytes; its descriptor is of this process.
func small(t *testing.T, disk durable.Disk, bytes int64) (*File, *os.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &File{path: path, disk: disk, fds: []int{int(f.Fd())}, full: func(_ string, size int64) bool { return size > bytes }}, f
}

// lines are those of the files, as often as they are there.
func lines(t *testing.T, paths ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
			_, message, _ := strings.Cut(line, "msg=")
			if message == "" {
				message = line
			}
			found[message]++
		}
	}
	return found
}

func TestNoLineIsLostWhenALogIsSetAside(t *testing.T) {
	t.Parallel()
	f, out := small(t, durable.Disk{}, 60_000) // less than all lines, and more than half of them
	log := slog.New(turning{NewHandler(out, Text, nil), f}).With("model", "default")
	var all sync.WaitGroup
	for who := range 8 {
		all.Go(func() {
			for n := range 100 {
				log.Info(fmt.Sprintf("line-%d-%d", who, n))
				fmt.Fprintf(out, "panic-%d-%d\n", who, n) // as what prints by itself
			}
		})
	}
	all.Wait()
	found := lines(t, f.path, f.path+".1")
	for who := range 8 {
		for n := range 100 {
			for _, line := range []string{fmt.Sprintf("line-%d-%d model=default", who, n), fmt.Sprintf("panic-%d-%d", who, n)} {
				if found[line] != 1 {
					t.Fatalf("%s is there %d times", line, found[line])
				}
			}
		}
	}
	if _, err := os.Stat(f.path + ".1"); err != nil {
		t.Errorf("nothing was set aside: %v", err)
	}
	if st, err := os.Stat(f.path); err != nil || st.Mode().Perm() != 0o600 || st.Size() == 0 {
		t.Errorf("the new one is %v, %v", st, err)
	}
}

func TestALogSaysWhatWasDropped(t *testing.T) {
	t.Parallel()
	f, out := small(t, durable.Disk{}, 100)
	log := slog.New(turning{NewHandler(out, Text, nil), f})
	for range 3 {
		log.Info(strings.Repeat("x", 200))
	}
	b, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "level=WARN msg=\"the full log was set aside, and older lines were dropped\" as="+f.path+".1 bytes=") || !strings.Contains(string(b), " dropped=2") {
		t.Errorf("it says %s", b)
	}
}

func TestALogThatCannotBeSetAsideGoesOn(t *testing.T) {
	t.Parallel()
	for _, verb := range []durable.Verb{durable.Rename, durable.Create, durable.Over} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			once := false
			disk := durable.Disk{Around: func(s durable.Step, _, whole func() error) error {
				if s.Do == verb && !once {
					once = true
					return errors.New("not now")
				}
				return whole()
			}}
			f, out := small(t, disk, 100)
			tries := 0
			f.full = func(_ string, size int64) bool {
				if size > 100 {
					tries++
				}
				return size > 100 && tries <= 2
			}
			log := slog.New(turning{NewHandler(out, Text, nil), f})
			for n := range 4 {
				log.Info(fmt.Sprintf("line-%d-%s", n, strings.Repeat("x", 60)))
				if _, err := os.Stat(f.path); err != nil {
					t.Errorf("after line %d there is no log: %v", n, err)
				}
			}
			found := lines(t, f.path, f.path+".1")
			for n := range 4 {
				if line := fmt.Sprintf("line-%d-%s", n, strings.Repeat("x", 60)); found[line] != 1 {
					t.Errorf("%s is there %d times in %v", line, found[line], found)
				}
			}
			if _, err := os.Stat(f.path + ".1"); err != nil {
				t.Errorf("it isn't tried again: %v", err)
			}
		})
	}
}

func TestAFileOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	f, out := small(t, durable.Disk{}, 10)
	if err := os.Rename(f.path, f.path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path, bytes.Repeat([]byte("x"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString("more than ten bytes\n"); err != nil {
		t.Fatal(err)
	}
	if done, err := f.SetAside(); err != nil || done != (Aside{}) {
		t.Errorf("it has set aside %v, %v", done, err)
	}
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString("after a SIGHUP\n"); err != nil {
		t.Fatal(err)
	}
	if found := lines(t, f.path+".old"); found["after a SIGHUP"] != 0 {
		t.Error("it prints to the former file still")
	}
	if Own(durable.Disk{}, f.path) != nil {
		t.Error("this process's own file is one that it doesn't print to")
	}
}

// TestWhoeverIsKilledWhileALogIsSetAsideHasLostNothing kills a process before, in the middle
// of and after each step. What it has logged before that is in the files, once; another
// process goes on with them.
func TestWhoeverIsKilledWhileALogIsSetAsideHasLostNothing(t *testing.T) {
	t.Parallel()
	killed := 0
	for step := 1; ; step++ {
		ended := true
		for _, when := range []string{"before", "half", "after"} {
			path := filepath.Join(t.TempDir(), "agent.log")
			told, dead := runDying(t, path, fmt.Sprintf("%s %d", when, step))
			if dead {
				ended = false
				killed++
			}
			again, _ := runDying(t, path, "never 0")
			if len(again) == 0 {
				t.Errorf("%s step %d: no other process goes on", when, step)
			}
			found := lines(t, path, path+".1")
			for _, line := range told {
				if found[line] == 0 {
					t.Errorf("%s step %d: %s is lost", when, step, line)
				}
			}
		}
		if ended {
			break
		}
	}
	if killed < 6 {
		t.Errorf("it was killed at %d moments", killed)
	}
}

// runDying runs a process that logs, and has the lines that it has logged when it ends.
func runDying(t *testing.T, path, at string) (told []string, killed bool) {
	t.Helper()
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dying+"="+at, "UNITD_TEST_PATH="+path, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(out); in.Scan(); {
		told = append(told, in.Text())
	}
	return told, cmd.Wait() != nil
}

// die logs, tells what it has logged, and kills itself at a step.
func die(at string) {
	when, number, _ := strings.Cut(at, " ")
	step, _ := strconv.Atoi(number)
	kill := func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	n := 0
	disk := durable.Disk{Around: func(_ durable.Step, half, whole func() error) error {
		n++
		if n == step && when == "before" {
			kill()
		}
		if n == step && when == "half" {
			if half != nil {
				_ = half()
			}
			kill()
		}
		err := whole()
		if n == step && when == "after" {
			kill()
		}
		return err
	}}
	f := Own(disk, os.Getenv("UNITD_TEST_PATH"))
	if f == nil {
		os.Exit(2)
	}
	f.fds = []int{syscall.Stderr} // what it tells goes to who has begun it
	f.full = func(_ string, size int64) bool { return size > 1000 && step > 0 }
	log := slog.New(turning{NewHandler(os.Stderr, Text, nil), f})
	for i := range 12 {
		line := fmt.Sprintf("%s-%s-%d-%s", when, number, i, strings.Repeat("x", 80))
		log.Info(line)
		_, _ = io.WriteString(os.Stdout, line+"\n")
	}
	os.Exit(0)
}
