package agent

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/sealed"
)

// SecretKeyCommandVariable has a command of a shell that prints the keys for secrets: they are
// with a key management service then, and in no file of this host.
const SecretKeyCommandVariable = "UNITD_SECRET_KEY_COMMAND"

const (
	// commandTime is how long the command may take, and commandRest how long it isn't run again
	// after it was, whatever came of that.
	commandTime = 30 * time.Second
	commandRest = time.Second
	// maxKeys bounds what the command may print, and maxSaid what is told of what it says; in
	// bytes.
	maxKeys, maxSaid = 64 << 10, 1 << 10
)

// keyCommand runs the command for keys. What it has printed counts until it doesn't fit: keys are
// needed in transactions, which are to wait for nobody.
type keyCommand struct {
	time, rest time.Duration

	mu    sync.Mutex
	line  string
	keys  *sealed.Keys
	err   error // of the last time
	asked time.Time
	took  time.Duration
	// running is closed when the command has ended that runs; nil: none does.
	running chan struct{}
}

// keysByCommand is the process's own: the keys are the same whoever asks.
var keysByCommand = keyCommand{time: commandTime, rest: commandRest}

// read are the keys that a command prints; renew: those that are known don't fit. Who asks while
// it runs gets what it prints then. The error says what it has written on its standard error, and
// never what it has printed.
func (k *keyCommand) read(line string, renew bool) (*sealed.Keys, error) {
	for {
		keys, running, err := k.soon(line, renew)
		if running == nil {
			return keys, err
		}
		<-running
	}
}

// soon is read for who doesn't wait: running is closed when the command has ended that has to
// run first; nil: none has. It rests as long as it took to fail: one that hangs isn't always run.
func (k *keyCommand) soon(line string, renew bool) (keys *sealed.Keys, running <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.line != line {
		k.line, k.keys, k.err, k.asked, k.running = line, nil, nil, time.Time{}, nil
	}
	rest := k.rest
	if k.err != nil {
		rest = max(rest, k.took)
	}
	resting := k.running == nil && time.Since(k.asked) < rest
	switch {
	case k.keys != nil && (resting || !renew):
		return k.keys, nil, nil
	case k.err != nil && resting:
		return nil, nil, k.err
	}
	if k.running == nil {
		k.running = make(chan struct{})
		go k.ask(line, k.running) // which k.time ends
	}
	return nil, k.running, nil
}

// ask runs the command, and closes running then.
func (k *keyCommand) ask(line string, running chan struct{}) {
	began := time.Now()
	text, err := k.run(line)
	var keys *sealed.Keys
	if err != nil {
		err = errors.Annotatef(err, "cannot get the keys for secrets by %s", SecretKeyCommandVariable)
	} else {
		keys, err = sealed.Parse(text)
		err = errors.Annotatef(err, "cannot use what the command of %s prints", SecretKeyCommandVariable)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	defer close(running)
	if k.running != running {
		return // it is another command by now
	}
	k.err, k.asked, k.took, k.running = err, time.Now(), time.Since(began), nil
	if err == nil {
		k.keys = keys
	}
}

// await waits for the command if it runs.
func (k *keyCommand) await(ctx context.Context) error {
	k.mu.Lock()
	running := k.running
	k.mu.Unlock()
	if running == nil {
		return nil
	}
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return errors.Trace(ctx.Err())
	}
}

// fetch asks for the keys beside everything else, so that the first who needs them has them. What
// goes wrong is told to who needs them.
func (k *keyCommand) fetch() {
	if line := commandForKeys(); line != "" {
		_, _, _ = k.soon(line, false)
	}
}

// commandForKeys is the command that prints the keys for secrets; empty: they come otherwise.
func commandForKeys() string {
	if os.Getenv(SecretKeyVariable) != "" {
		return ""
	}
	return os.Getenv(SecretKeyCommandVariable)
}

// run runs a command, and ends it, with what it has started, when its time is over.
func (k *keyCommand) run(line string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), k.time)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, said := beginning{most: maxKeys}, beginning{most: maxSaid}
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // it has ended well, and something that it has started holds its output
		_ = cmd.Cancel()
		err = nil
	}
	switch text := strings.Join(strings.Fields(said.text.String()), " "); {
	case ctx.Err() != nil:
		return "", errors.Errorf("the command hasn't ended within %s", k.time)
	case err != nil && text != "":
		return "", errors.Errorf("%v: %s", err, text)
	case err != nil:
		return "", errors.Trace(err)
	case out.more:
		return "", errors.Errorf("the command has printed more than %d bytes", maxKeys)
	}
	return out.text.String(), nil
}

// beginning keeps the beginning of what is written to it.
type beginning struct {
	text bytes.Buffer // not embedded: its ReadFrom would take all
	most int
	more bool // there was more
}

// Write is part of io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	room := min(len(p), b.most-b.text.Len())
	b.more = b.more || room < len(p)
	_, _ = b.text.Write(p[:room])
	return len(p), nil
}
