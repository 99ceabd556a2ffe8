package agent

import (
	"fmt"

	"github.com/juju/errors"
)

// ErrUsage marks what was wrong before anything was done, in what a person has said
// on the command line or in the environment.
const ErrUsage = errors.ConstError("wrong usage")

// Wrongf is an ErrUsage.
func Wrongf(format string, args ...any) error {
	return errors.WithType(fmt.Errorf(format, args...), ErrUsage)
}
