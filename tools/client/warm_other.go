//go:build !linux

package client

// runWarm runs nothing: processes stand ready on Linux alone.
func runWarm(_, _, _ string, _ []string) (code int, ran bool) { return 0, false }

func isTerminal(int) bool { return false }
