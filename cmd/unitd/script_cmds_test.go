package main_test

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/testcharms/images"
)

// cmdUnitd is "[!] unitd ARGS...".
func cmdUnitd(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		expectExit(ts, 1, args)
		return
	}
	expectExit(ts, 0, args)
}

// cmdRefuse is "refuse ARGS...".
func cmdRefuse(ts *testscript.TestScript, neg bool, args []string) {
	expectUnchanged(ts, neg, 1, args)
}

// cmdMisuse is "misuse ARGS...".
func cmdMisuse(ts *testscript.TestScript, neg bool, args []string) {
	expectUnchanged(ts, neg, 2, args)
}

func expectUnchanged(ts *testscript.TestScript, neg bool, code int, args []string) {
	if neg {
		ts.Fatalf("unsupported: !")
	}
	before := documents(ts)
	expectExit(ts, code, args)
	after := documents(ts)
	for key, value := range after {
		if before[key] != value {
			ts.Fatalf("document %s was changed\nfrom %s\nto   %s", key, before[key], value)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			ts.Fatalf("document %s was deleted", key)
		}
	}
}

// expectExit runs unitd. A failure has to say why on standard error, in the
// words of the program and not of the language that it is written in.
func expectExit(ts *testscript.TestScript, want int, args []string) {
	err := ts.Exec("unitd", args...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("unitd: %v", err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
	said := ts.ReadFile("stderr")
	if want != 0 && !strings.Contains("\n"+said, "\nERROR ") {
		ts.Fatalf("exit code %d without an ERROR on standard error", code)
	}
	for _, word := range []string{"panic:", "goroutine ", ".go:", "%!"} {
		if strings.Contains(said, word) {
			ts.Fatalf("standard error has %q", word)
		}
	}
}

// cmdHooks is "hooks UNIT WORDS...". A word is a hook's name, with the remote
// unit in brackets if it has one, and "=outcome" if that isn't committed. A "+"
// at its end allows it to be there several times in a row.
func cmdHooks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hooks UNIT WORDS...")
	}
	dirs, err := filepath.Glob(filepath.Join(ts.MkAbs(ts.Getenv("UNITD_DATA")), "models", "*", "history"))
	ts.Check(err)
	got := []string{}
	for _, dir := range dirs {
		runs, err := history.Read(dir, model.UnitName(args[0]))
		ts.Check(err)
		for _, run := range runs {
			got = append(got, word(run))
		}
	}
	want := args[1:]
	all := got
	if len(want) > 0 && want[0] == "..." {
		want = want[1:]
		got = got[max(0, len(got)-len(want)):]
	}
	if !matches(got, want) {
		ts.Fatalf("hooks of %s:\nhave %s\nwant %s", args[0], strings.Join(all, " "), strings.Join(want, " "))
	}
}

// matches says whether the words are those wanted.
func matches(got, want []string) bool {
	for _, w := range want {
		one, several := strings.CutSuffix(w, "+")
		if len(got) == 0 || got[0] != one {
			return false
		}
		got = got[1:]
		for several && len(got) > 0 && got[0] == one {
			got = got[1:]
		}
	}
	return len(got) == 0
}

func word(run history.Entry) string {
	w := run.Name
	if run.Hook.RemoteUnit != "" {
		w += "(" + string(run.Hook.RemoteUnit) + ")"
	}
	if run.Outcome != history.Committed {
		w += "=" + string(run.Outcome)
	}
	return w
}

// cmdJSON is "[!] json KEYS... VALUE". Keys lead through maps, numbers through
// lists. The value is text as it is, or anything else as compact JSON.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: [!] json KEYS... VALUE")
	}
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("the output is not JSON: %v", err)
	}
	keys, want := args[:len(args)-1], args[len(args)-1]
	if neg {
		keys = args
	}
	found := true
	for _, key := range keys {
		if v, found = at(v, key); !found {
			break
		}
	}
	switch {
	case neg && found:
		ts.Fatalf("%s is there: %v", strings.Join(keys, " "), v)
	case neg:
		return
	case !found:
		ts.Fatalf("%s is not there", strings.Join(keys, " "))
	}
	if s, ok := v.(string); ok && s == want {
		return
	}
	b, err := json.Marshal(v)
	ts.Check(err)
	if string(b) != want {
		ts.Fatalf("%s: have %s, want %s", strings.Join(keys, " "), b, want)
	}
}

func at(v any, key string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		e, ok := v[key]
		return e, ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// cmdCrash is "crash".
func cmdCrash(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: crash")
	}
	f, err := os.Open(filepath.Join(ts.MkAbs(ts.Getenv("UNITD_DATA")), "agent.lock"))
	ts.Check(err)
	defer f.Close()
	var pid int
	if _, err := fmt.Fscan(f, &pid); err != nil {
		ts.Fatalf("no agent: %v", err)
	}
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	ts.Check(syscall.Flock(int(f.Fd()), syscall.LOCK_EX)) // given back by the kernel once it has gone
}

// cmdMkfifo is "mkfifo NAMES...".
func cmdMkfifo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: mkfifo NAMES...")
	}
	for _, name := range args {
		ts.Check(syscall.Mkfifo(ts.MkAbs(name), 0o600))
	}
}

// cmdZip is "zip FILE ENTRIES...". An entry is NAME, read from the file of that
// name; NAME=FILE, read from another one; NAME->TARGET, a symbolic link; or
// NAME|, a device.
func cmdZip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: zip FILE ENTRIES...")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	z := zip.NewWriter(f)
	for _, arg := range args[1:] {
		name, content := arg, ""
		mode := os.FileMode(0o755)
		if link, target, ok := strings.Cut(arg, "->"); ok {
			name, content, mode = link, target, mode|os.ModeSymlink
		} else if device, ok := strings.CutSuffix(arg, "|"); ok {
			name, mode = device, mode|os.ModeDevice|os.ModeCharDevice
		} else if other, file, ok := strings.Cut(arg, "="); ok {
			name, content = other, ts.ReadFile(file)
		} else {
			content = ts.ReadFile(name)
		}
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		w, err := z.CreateHeader(h)
		ts.Check(err)
		_, err = w.Write([]byte(content))
		ts.Check(err)
	}
	ts.Check(z.Close())
	ts.Check(f.Close())
}

// cmdAgentEnded is "agent-ended": an agent gives back its lock as it ends.
func cmdAgentEnded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: agent-ended")
	}
	f, err := os.Open(filepath.Join(ts.MkAbs(ts.Getenv("UNITD_DATA")), "agent.lock"))
	ts.Check(err)
	defer f.Close()
	ts.Check(syscall.Flock(int(f.Fd()), syscall.LOCK_SH))
}

// cmdWebImage is "web-image FILE".
func cmdWebImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: web-image FILE")
	}
	image, err := images.NewWeb()
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	ts.Check(image.OCI(f, "web:latest"))
}
