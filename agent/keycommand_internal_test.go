package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/sealed"
)

// counted is a command that prints a file and notes that it was run, and how often it was.
func counted(t *testing.T, text string) (line string, runs func() int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("cd '%s' && echo >>runs && cat keys", dir), func() int {
		b, err := os.ReadFile(filepath.Join(dir, "runs"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(b), "\n")
	}
}

func TestKeysComeByACommandNowAndThen(t *testing.T) {
	t.Parallel()
	want, err := sealed.Generate()
	if err != nil {
		t.Fatal(err)
	}
	line, runs := counted(t, want.Text())
	k := &keyCommand{time: time.Minute, rest: time.Hour}
	for range 3 {
		if have, err := k.read(line, true); err != nil || have.Name() != want.Name() {
			t.Fatalf("they are %v, %v", have, err)
		}
	}
	if runs() != 1 {
		t.Errorf("it was run %d times", runs())
	}
	other, otherRuns := counted(t, want.Text())
	if _, err := k.read(other, false); err != nil || otherRuns() != 1 {
		t.Errorf("another command was run %d times (%v)", otherRuns(), err)
	}
	k.asked = k.asked.Add(-2 * k.rest)
	if _, err := k.read(other, false); err != nil || otherRuns() != 1 {
		t.Errorf("keys that fit were asked for %d times in all (%v)", otherRuns(), err)
	}
	if _, err := k.read(other, true); err != nil || otherRuns() != 2 {
		t.Errorf("others than those were asked for %d times in all (%v)", otherRuns(), err)
	}
}

// TestACommandThatFailsIsLeftAloneForAWhile, and then asked again.
func TestACommandThatFailsIsLeftAloneForAWhile(t *testing.T) {
	t.Parallel()
	line, runs := counted(t, "no keys")
	k := &keyCommand{time: time.Minute, rest: time.Hour}
	for range 3 {
		if _, err := k.read(line, false); err == nil {
			t.Fatal("these are keys")
		}
	}
	if runs() != 1 {
		t.Errorf("it was run %d times", runs())
	}
	k.asked = k.asked.Add(-2 * k.rest)
	if _, err := k.read(line, false); err == nil || runs() != 2 {
		t.Errorf("later it was run %d times in all (%v)", runs(), err)
	}
}

// TestWhoDoesNotWaitForACommandHasItsKeysLater: those that are known go on to be given meanwhile.
func TestWhoDoesNotWaitForACommandHasItsKeysLater(t *testing.T) {
	t.Parallel()
	want, err := sealed.Generate()
	if err != nil {
		t.Fatal(err)
	}
	line, runs := counted(t, want.Text())
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	line = fmt.Sprintf("cat '%s' && %s", gate, line)
	k := &keyCommand{time: time.Minute, rest: 0}
	for n := range 2 {
		renew := n > 0
		_, running, err := k.soon(line, renew)
		if _, again, _ := k.soon(line, renew); running == nil || again != running || err != nil {
			t.Fatalf("it isn't run once beside this: %v", err)
		}
		if have, running, err := k.soon(line, false); renew && (running != nil || err != nil || have.Name() != want.Name()) {
			t.Errorf("meanwhile they are %v, %v", have, err)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := k.await(stopped); !errors.Is(err, context.Canceled) {
			t.Errorf("who can't wait any more: %v", err)
		}
		open, err := os.OpenFile(gate, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		open.Close()
		if err := k.await(t.Context()); err != nil {
			t.Error(err)
		}
		<-running
		if have, running, err := k.soon(line, false); running != nil || err != nil || have.Name() != want.Name() || runs() != n+1 {
			t.Errorf("then they are %v, %v, by %d runs", have, err, runs())
		}
	}
}

// TestACommandThatHangsRestsAsLongAsItTook.
func TestACommandThatHangsRestsAsLongAsItTook(t *testing.T) {
	t.Parallel()
	k := &keyCommand{time: 300 * time.Millisecond, rest: 0}
	if _, err := k.read("sleep 100 & wait", false); err == nil || k.took < k.time {
		t.Fatalf("it has taken %s (%v)", k.took, err)
	}
	k.took = time.Hour
	if _, running, err := k.soon("sleep 100 & wait", true); running != nil || err == nil {
		t.Errorf("it is run again at once (%v)", err)
	}
}

// TestACommandMayLeaveAProgramThatHoldsItsOutput, which is ended.
func TestACommandMayLeaveAProgramThatHoldsItsOutput(t *testing.T) {
	t.Parallel()
	want, err := sealed.Generate()
	if err != nil {
		t.Fatal(err)
	}
	line, _ := counted(t, want.Text())
	k := &keyCommand{time: time.Minute, rest: time.Hour}
	if have, err := k.read("sleep 1000 & "+line, false); err != nil || have.Name() != want.Name() {
		t.Errorf("they are %v, %v", have, err)
	}
}

func TestACommandThatHasNoKeysSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"echo 'no such key' >&2; exit 3", "cannot get the keys for secrets by UNITD_SECRET_KEY_COMMAND: exit status 3: no such key"},
		{"exit 4", "exit status 4"},
		{"yes x | head -c 70000 >&2; exit 5", "exit status 5: x x"},
		{"true", "cannot use what the command of UNITD_SECRET_KEY_COMMAND prints: these are no keys"},
		{"echo AGE-SECRET-KEY-1-not-one", "these are no keys"},
		{"exec head -c 70000 /dev/zero", "more than 65536 bytes"},
		{"sleep 100 & wait", "hasn't ended within 300ms"},
	} {
		k := &keyCommand{time: time.Minute, rest: time.Hour}
		if strings.HasPrefix(c.line, "sleep") {
			k.time = 300 * time.Millisecond
		}
		_, err := k.read(c.line, false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.line, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "not-one") {
			t.Errorf("%v has what was printed", err)
		}
	}
}
