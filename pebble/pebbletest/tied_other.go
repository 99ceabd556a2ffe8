//go:build !linux

package pebbletest

import (
	"os/exec"

	"github.com/juju/errors"
)

// runTied starts the process. gone is closed when it has ended.
func runTied(cmd *exec.Cmd, asInit bool, gone chan<- struct{}) error {
	if asInit {
		return errors.NotSupportedf("pid namespaces, but on Linux,")
	}
	if err := cmd.Start(); err != nil {
		return errors.Trace(err)
	}
	go func() {
		defer close(gone)
		_ = cmd.Wait()
	}()
	return nil
}
