//go:build !linux

package tunnel

import "github.com/juju/errors"

var errNone = errors.WithType(errors.New("tunnels are available on Linux only"), ErrNone)

// Main is nothing here.
func Main([]string) (code int, ok bool) { return 0, false }

// Up is an error, ErrNone.
func (Device) Up(Self) (int, error) { return 0, errNone }

// Set is an error, ErrNone.
func (Device) Set(_, _ []Peer) error { return errNone }

// Remove does nothing.
func (Device) Remove() error { return nil }
