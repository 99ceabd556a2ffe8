package deploy

import (
	"fmt"
	"strings"

	"github.com/juju/errors"
)

// NoRelation is the error of two sides that don't fit, with the reason where
// there is a simple one.
func NoRelation(err error, one, other string) error {
	one, _, _ = strings.Cut(one, ":")
	other, _, _ = strings.Cut(other, ":")
	if one != other {
		return err
	}
	return errors.NewNotFound(nil, fmt.Sprintf("%v: application %q can't be related to itself", err, one))
}
