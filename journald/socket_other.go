//go:build !linux

package journald

import "github.com/juju/errors"

// sendFile is for what only Linux has, where the journal is.
func (s *Socket) sendFile([]byte) error { return errors.NotSupportedf("a large record") }
