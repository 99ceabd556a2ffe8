package model

import (
	"fmt"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// OfferURL says which offer of which model is meant: "controller:owner/model.offer".
// Controller, Owner and Endpoint may be empty.
type OfferURL struct {
	Controller, Owner, Model, Offer, Endpoint string
}

var (
	plainEndpoint = pattern.New(`^[a-zA-Z0-9]+$`)
	validOwner    = pattern.New(`^[a-zA-Z0-9][a-zA-Z0-9.+-]*(@[a-zA-Z0-9.-]+)?$`)
)

// IsOfferURL says whether a word is meant as an offer's URL, and not as an application,
// or an application with an endpoint.
func IsOfferURL(s string) bool { return strings.ContainsAny(s, "./") }

// ParseOfferURL reads "[CONTROLLER:][OWNER/]MODEL.OFFER[:ENDPOINT]". With one colon, what
// follows it is an endpoint where it can be one. The errors are NotValid.
// Source: docs/spec/juju-clients.md §11.1.
func ParseOfferURL(s string) (OfferURL, error) {
	var u OfferURL
	rest := s
	switch parts := strings.Split(s, ":"); len(parts) {
	case 1:
	case 2:
		if plainEndpoint.MatchString(parts[1]) || !strings.Contains(parts[1], ".") {
			rest, u.Endpoint = parts[0], parts[1]
		} else {
			u.Controller, rest = parts[0], parts[1]
		}
	case 3:
		u.Controller, rest, u.Endpoint = parts[0], parts[1], parts[2]
	default:
		return u, badOfferURL(s)
	}
	if owner, name, owned := strings.Cut(rest, "/"); owned {
		u.Owner, rest = owner, name
	}
	if strings.ContainsAny(rest, "/ ") || strings.Count(rest, ".") > 1 {
		return u, badOfferURL(s)
	}
	u.Model, u.Offer, _ = strings.Cut(rest, ".")
	return u, errors.Trace(u.check())
}

func badOfferURL(s string) error {
	return errors.NewNotValid(nil, fmt.Sprintf("application offer URL has invalid form, must be [<user/]<model>.<appname>: %q", s))
}

func (u OfferURL) check() error {
	switch {
	case u.Model == "":
		return errors.NewNotValid(nil, "application offer URL is missing model")
	case u.Offer == "":
		return errors.NewNotValid(nil, "application offer URL is missing application")
	case u.Owner != "" && !validOwner.MatchString(u.Owner):
		return errors.NewNotValid(nil, fmt.Sprintf("user name %q not valid", u.Owner))
	case !ValidModelName(u.Model):
		return errors.NewNotValid(nil, fmt.Sprintf("model name %q not valid", u.Model))
	case !ValidApplication(u.Offer):
		return errors.NewNotValid(nil, fmt.Sprintf("application name %q not valid", u.Offer))
	}
	return nil
}

// Path is the URL without its controller and endpoint: "admin/harbour.ledgerdb".
func (u OfferURL) Path() string {
	path := u.Model + "." + u.Offer
	if u.Owner != "" {
		path = u.Owner + "/" + path
	}
	return path
}

// String is the URL with what it has.
func (u OfferURL) String() string {
	s := u.Path()
	if u.Controller != "" {
		s = u.Controller + ":" + s
	}
	if u.Endpoint != "" {
		s += ":" + u.Endpoint
	}
	return s
}
