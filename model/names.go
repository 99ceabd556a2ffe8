package model

import (
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// UnitName is the name of a unit, "mysql/0": the name of its application, a
// slash, and a number that is never used again in the life of the application.
type UnitName string

// RelationID numbers the relations of one model, from 0 up; ids are never
// used again. Charms see it as "endpoint:id" (JUJU_RELATION_ID).
type RelationID int

// NoRelation is the RelationID of what isn't about a relation.
const NoRelation RelationID = -1

var (
	validApplication = pattern.New(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*$`)
	validModel       = pattern.New(`^[a-z0-9]+[a-z0-9-]*$`)
)

// ValidApplication says whether name can name an application, a charm, or a charm's
// storage: lower-case letters, digits and single hyphens, beginning with a letter, and
// no part between hyphens that is all digits (it would look like a unit's tag).
func ValidApplication(name string) bool { return validApplication.MatchString(name) }

// ValidModelName says whether name can name a model (docs/spec/cli-juju.md §6).
func ValidModelName(name string) bool { return validModel.MatchString(name) }

// ParseUnitName reads "application/number". The error is NotValid and has the
// contract's text: `invalid unit name "x"`.
func ParseUnitName(s string) (UnitName, error) {
	app, num, ok := strings.Cut(s, "/")
	if !ok || !ValidApplication(app) || num == "" || (len(num) > 1 && num[0] == '0') {
		return "", errors.NewNotValid(nil, "invalid unit name "+strconv.Quote(s))
	}
	for _, r := range num {
		if r < '0' || r > '9' {
			return "", errors.NewNotValid(nil, "invalid unit name "+strconv.Quote(s))
		}
	}
	if _, err := strconv.Atoi(num); err != nil {
		return "", errors.NewNotValid(nil, "invalid unit name "+strconv.Quote(s))
	}
	return UnitName(s), nil
}

// NewUnitName is the name of the unit of app with that number.
func NewUnitName(app string, number int) UnitName {
	return UnitName(app + "/" + strconv.Itoa(number))
}

// Application is the part before the slash.
func (u UnitName) Application() string {
	app, _, _ := strings.Cut(string(u), "/")
	return app
}

// Number is the part after the slash; -1 where there is none.
func (u UnitName) Number() int {
	_, num, _ := strings.Cut(string(u), "/")
	n, err := strconv.Atoi(num)
	if err != nil {
		return -1
	}
	return n
}

// Tag is the name in the form of directories and logs: "unit-mysql-0".
func (u UnitName) Tag() string {
	return "unit-" + u.Application() + "-" + strconv.Itoa(u.Number())
}

// CompareUnits orders unit names by application, then by number, so that
// mysql/2 comes before mysql/10. It is the order in which units join, depart
// and are listed.
func CompareUnits(a, b UnitName) int {
	if c := strings.Compare(a.Application(), b.Application()); c != 0 {
		return c
	}
	return a.Number() - b.Number()
}
