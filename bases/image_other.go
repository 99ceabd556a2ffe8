//go:build !linux

package bases

import (
	"context"

	"github.com/juju/errors"
)

// unpack is an error: images are for Linux.
func (*work) unpack(context.Context) (string, error) {
	return "", errors.WithType(errors.New("images are available on Linux only"), errNoImage)
}

// written does nothing.
func written(string) error { return nil }
