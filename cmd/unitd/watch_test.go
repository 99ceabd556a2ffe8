package main_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watcher is a running "unitd watch" of a charm in a directory of its own.
type watcher struct {
	testing.TB
	cmd   *exec.Cmd
	work  string // all that it may leave something in
	charm string
	lines chan string
}

// startWatch writes the charm's files and watches it.
func startWatch(t testing.TB, files map[string]string) *watcher {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	// The sockets of the agent are below it, and their paths have to be short.
	work, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	w := &watcher{TB: t, work: work, charm: filepath.Join(work, "app"), lines: make(chan string, 1000)}
	for name, text := range files {
		w.save(name, text)
	}
	if err := os.Mkdir(filepath.Join(work, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.cmd = exec.Command(filepath.Join(bin, "unitd"), "watch", "./app")
	w.cmd.Dir = work
	w.cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(work, "tmp"), "UNITD_DATA="+filepath.Join(work, "data"), "UNITD_ISOLATE=off")
	out, in := io.Pipe()
	w.cmd.Stdout, w.cmd.Stderr = in, in
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			w.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it has ended, unless the test has failed
		_ = w.cmd.Wait()
		in.Close()
		for pid := range processesOf(work) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return w
}

// save writes a file of the charm as editors do: beside it, and then in its
// place.
func (w *watcher) save(name, text string) {
	w.Helper()
	path := filepath.Join(w.charm, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path+"~", []byte(text), 0o755)
	}
	if err == nil {
		err = os.Rename(path+"~", path)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// until returns the lines up to one that has the text.
func (w *watcher) until(text string) string {
	w.Helper()
	late := time.After(10 * time.Minute)
	var lines []string
	for {
		select {
		case line, ok := <-w.lines:
			lines = append(lines, line)
			if !ok {
				w.Fatalf("it has ended:\n%s", strings.Join(lines, "\n"))
			}
			if strings.Contains(line, text) {
				return strings.Join(lines, "\n")
			}
		case <-late:
			w.Fatalf("it doesn't say %q:\n%s", text, strings.Join(lines, "\n"))
		}
	}
}

// round waits for the end of the round, whose lines have to match all the
// patterns, and none of those that begin with "!".
func (w *watcher) round(patterns ...string) {
	w.Helper()
	text := w.until("watching ./app;")
	for _, pattern := range patterns {
		pattern, not := strings.CutPrefix(pattern, "!")
		if regexp.MustCompile("(?m)"+pattern).MatchString(text) == not {
			w.Errorf("match of %q is %v in\n%s", pattern, not, text)
		}
	}
}

// interrupt ends it by Ctrl-C and checks that nothing is left.
func (w *watcher) interrupt() {
	w.Helper()
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		w.Fatal(err)
	}
	if err := w.cmd.Wait(); err != nil {
		w.Errorf("after Ctrl-C: %v", err)
	}
	for pid, command := range processesOf(w.work) {
		w.Errorf("process %d was left behind: %s", pid, command)
	}
	for _, dir := range []string{"tmp", "data"} {
		entries, err := os.ReadDir(filepath.Join(w.work, dir))
		if err != nil && !os.IsNotExist(err) || len(entries) > 0 {
			w.Errorf("%s has %v, %v", dir, entries, err)
		}
	}
}

const watchedMetadata = "name: app\npeers: {cluster: {interface: c}}\n"

func publish(port string) string {
	return "#!/bin/sh\nrelation-set -r $(relation-ids cluster) port=" + port + "\n"
}

func TestWatchShowsWhatEachSaveChanges(t *testing.T) {
	t.Parallel()
	w := startWatch(t, map[string]string{
		"metadata.yaml": watchedMetadata, "hooks/config-changed": publish("8080"),
		// A daemon that a hook leaves behind goes with the watch.
		"hooks/start": "#!/bin/sh\nsetsid sleep 600 >/dev/null 2>&1 &\n",
	})
	w.round(`^---- \d\d:\d\d:\d\d  deploying app$`, `app/0 +config-changed +\d+ms`, `^  app:cluster app/0  \+ port: 8080$`)
	w.save("hooks/config-changed", publish("9090"))
	w.round(`refreshing app to revision 1$`, `app/0 +upgrade-charm +not in the charm`, `app/0 +config-changed +\d+ms`,
		`^  app:cluster app/0  ~ port: 8080 -> 9090$`, `! install`, `!\+ port`)
	// A new file in a new directory is a save too.
	w.save("src/new/file", "x")
	w.round(`refreshing app to revision 2$`, `!port`)
	w.interrupt()
}

func TestWatchGoesOnAfterMistakes(t *testing.T) {
	t.Parallel()
	w := startWatch(t, map[string]string{"metadata.yaml": watchedMetadata, "hooks/config-changed": publish("1")})
	w.round(`\+ port: 1$`)
	w.save("metadata.yaml", "name: [\n")
	w.round(`^ERROR .*metadata\.yaml`, `!changed`)
	w.save("metadata.yaml", "name: other\n")
	w.round(`^ERROR cannot refresh "app" to charm "other": it runs charm "app"$`)
	w.save("metadata.yaml", watchedMetadata+"summary: mended\n")
	w.round(`refreshing app to revision 1$`, `app/0 +config-changed`)

	w.save("hooks/config-changed", "#!/bin/sh\njuju-log hello\necho oh no >&2\nexit 3\n")
	w.round(`app/0 +config-changed +failed: exit status 3`, `^  app/0  ~ status: .*error`,
		`^app/0: hook failed: "config-changed"; the next save runs it again$`, `^    WARNING oh no$`, `^    INFO hello$`)
	// The same hook fails again, with the charm of the save, and what it said
	// before isn't shown again.
	w.save("hooks/config-changed", "#!/bin/sh\necho still bad >&2\nexit 4\n")
	w.round(`refreshing app to revision 3$`, `app/0 +config-changed +failed: exit status 4`, `^    WARNING still bad$`, `!oh no`, `!exit status 3`)
	w.save("hooks/config-changed", publish("2"))
	w.round(`app/0 +config-changed +\d+ms`, `~ port: 1 -> 2$`, `~ status: error .*-> `, `!next save`)
	w.interrupt()
}

func TestWatchTakesASaveDuringARound(t *testing.T) {
	t.Parallel()
	w := startWatch(t, map[string]string{"metadata.yaml": watchedMetadata, "hooks/config-changed": publish("1")})
	w.round(`\+ port: 1$`)
	fifo := filepath.Join(w.work, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	w.save("hooks/config-changed", "#!/bin/sh\ncat "+fifo+"\n")
	hook, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the hook
	if err != nil {
		t.Fatal(err)
	}
	w.save("hooks/config-changed", publish("2"))
	w.until("refreshing app to revision 2")
	hook.Close()
	w.round(`app/0 +upgrade-charm`, `~ port: 1 -> 2$`)
	w.interrupt()
}
