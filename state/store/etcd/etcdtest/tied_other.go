//go:build !linux

package etcdtest

import "os/exec"

// runTied starts the process. gone is closed when it has ended.
func runTied(cmd *exec.Cmd, gone chan<- struct{}) error {
	err := cmd.Start()
	go func() {
		defer close(gone)
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	return err
}
