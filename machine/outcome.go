package machine

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// result is how a run has ended. One that ended badly while the agent was to
// stop is stopped: whoever stops an agent often ends its hooks as well.
func (u *unit) result(ctx context.Context, path string, o runner.Outcome, tail *outputTail) uniter.Result {
	bad := o.Err != nil || o.Signal != 0 || o.Exit != 0
	switch {
	case o.Stopped || bad && ctx.Err() != nil:
		// What it has printed is told if its time-out has stopped it.
		return uniter.Result{Stopped: true, Failure: &resolver.Failure{Output: tail.lines()}}
	case o.Err != nil && isHosts(o.Err):
		return u.trouble(ctx, errors.New(StartError(path, o.Err)))
	case o.Err != nil:
		return u.failure(ctx, errors.New(StartError(path, o.Err)))
	case o.Signal != 0:
		return uniter.Result{Failure: &resolver.Failure{
			Message: tail.with("ended by signal " + signalName(o.Signal)), Exit: -1, Signal: signalName(o.Signal), Output: tail.lines(),
		}}
	case o.Exit != 0:
		return uniter.Result{Failure: &resolver.Failure{Message: tail.with(fmt.Sprintf("exit status %d", o.Exit)), Exit: o.Exit, Output: tail.lines()}}
	}
	return uniter.Result{}
}

// failure is the end of a run that has failed for what isn't the hook's doing,
// unless it is that the agent was to stop, or the host's trouble.
func (u *unit) failure(ctx context.Context, err error) uniter.Result {
	if ctx.Err() != nil || isHosts(err) {
		return u.trouble(ctx, err)
	}
	return uniter.Result{Failure: &resolver.Failure{Message: err.Error(), Exit: -1}}
}

// trouble is the end of a run that couldn't begin, for what is neither the hook's
// nor the charm's doing.
func (u *unit) trouble(ctx context.Context, err error) uniter.Result {
	if ctx.Err() != nil {
		return uniter.Result{Stopped: true}
	}
	return uniter.Result{Trouble: withoutPath(err), Failure: &resolver.Failure{Message: err.Error(), Exit: -1}}
}

// withoutPath is an error of the system on a file without the path of that, which
// people needn't know.
func withoutPath(err error) error {
	var of *fs.PathError
	if !errors.As(err, &of) {
		return err
	}
	return errors.New(strings.Replace(err.Error(), of.Error(), of.Err.Error(), 1))
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGKILL: "SIGKILL", syscall.SIGTERM: "SIGTERM", syscall.SIGSEGV: "SIGSEGV", syscall.SIGINT: "SIGINT",
		syscall.SIGABRT: "SIGABRT", syscall.SIGHUP: "SIGHUP", syscall.SIGPIPE: "SIGPIPE", syscall.SIGQUIT: "SIGQUIT",
	}
	if n, ok := names[s]; ok {
		return n
	}
	return fmt.Sprintf("%d (%s)", int(s), s)
}
