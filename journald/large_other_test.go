//go:build !linux

package journald

import "testing"

// sealed is for what only Linux sends.
func sealed(t *testing.T, _ []byte) []byte {
	t.Fatal("a file was sent")
	return nil
}
