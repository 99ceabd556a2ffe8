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
	// commandTime is how long the command may take. Its answer counts for commandAge: hooks
	// that seal one secret after the other don't ask each time.
	commandTime = 30 * time.Second
	commandAge  = 10 * time.Second
	// maxKeys bounds what the command may print, in bytes.
	maxKeys = 64 << 10
)

// keyCommand runs the command for keys.
type keyCommand struct {
	time time.Duration
	age  time.Duration

	mu    sync.Mutex
	line  string
	keys  *sealed.Keys
	asked time.Time
}

// keysByCommand is the process's own: the keys are the same whoever asks.
var keysByCommand = keyCommand{time: commandTime, age: commandAge}

// read are the keys that a command prints. Who asks while it runs gets what it prints then. The
// error says what it has written on its standard error, and never what it has printed.
func (k *keyCommand) read(line string) (*sealed.Keys, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys != nil && k.line == line && time.Since(k.asked) < k.age {
		return k.keys, nil
	}
	text, err := k.run(line)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot get the keys for secrets by %s", SecretKeyCommandVariable)
	}
	keys, err := sealed.Parse(text)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot use what the command of %s prints", SecretKeyCommandVariable)
	}
	k.line, k.keys, k.asked = line, keys, time.Now()
	return keys, nil
}

// run runs a command, and ends it, with what it has started, when its time is over.
func (k *keyCommand) run(line string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), k.time)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	switch text := strings.Join(strings.Fields(said.String()), " "); {
	case ctx.Err() != nil:
		return "", errors.Errorf("the command hasn't ended within %s", k.time)
	case err != nil && text != "":
		return "", errors.Errorf("%v: %s", err, text)
	case err != nil:
		return "", errors.Trace(err)
	case out.Len() > maxKeys:
		return "", errors.Errorf("the command has printed more than %d bytes", maxKeys)
	}
	return out.String(), nil
}

// keysAreGiven says whether the environment has the keys for secrets, or how to get them.
func keysAreGiven() bool {
	return os.Getenv(SecretKeyVariable) != "" || os.Getenv(SecretKeyCommandVariable) != ""
}
