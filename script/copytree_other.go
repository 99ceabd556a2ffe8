//go:build !linux

package script

import "io/fs"

// likeOwner does nothing: there are no isolated units here.
func likeOwner(_, _ string, _ fs.FileInfo) error { return nil }

// copyWhiteout does nothing.
func copyWhiteout(_, _ string, _ fs.FileInfo) error { return nil }
