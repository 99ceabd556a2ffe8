package charmhub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// ErrUnreachable is a hub that doesn't answer, or only says that it can't at present.
const ErrUnreachable = errors.ConstError("Charmhub can't be reached")

// unreachable is an error of that type.
func unreachable(url, why string) error {
	return errors.WithType(fmt.Errorf("cannot reach Charmhub at %s: %s", url, why), ErrUnreachable)
}

// The codes of faults that are told apart.
// Source: docs/spec/juju-clients.md §12.3.
const (
	codeInvalidBase      = "invalid-charm-base"
	codeInvalidPlatform  = "invalid-charm-platform"
	codeRevisionNotFound = "revision-not-found"
)

// said is what a fault is called.
func (f fault) said() string {
	switch f.Code {
	case "name-not-found":
		return "charm or bundle name not found"
	case "not-found", "id-not-found":
		return "charm or bundle not found"
	case "api-error":
		return "unexpected api error attempting to query charm or bundle from the charmhub store"
	case "bad-argument":
		return "query argument"
	case "":
		return strings.Join(strings.Fields(f.Message), " ")
	}
	text := strings.Join(strings.Fields(f.Message), " ")
	if text == "" {
		text = strings.Join(strings.Fields(strings.ReplaceAll(f.Code, "-", " ")), " ")
	}
	return text
}

// err is a fault as an error, after what was tried: NotFound for what isn't there.
func (f fault) err(tried string) error {
	text := tried + ": " + f.said()
	if strings.HasSuffix(f.Code, "not-found") {
		return errors.NewNotFound(nil, text)
	}
	return errors.New(text)
}

// ErrNoRelease is a channel that has nothing for a base; it is NotFound, too.
const ErrNoRelease = errors.ConstError("no release")

func noRelease(text string) error {
	return errors.WithType(errors.NewNotFound(nil, text), ErrNoRelease)
}

// noRelease is the error of a channel that has nothing for a base, with what there is.
func (f fault) noRelease(channel Channel, base Base) error {
	where := "in the charm's default channel"
	if channel != (Channel{}) {
		where = fmt.Sprintf("for channel %q", channel)
	}
	text := fmt.Sprintf("selecting releases: charm or bundle not found %s, base %q; ", where, base.full())
	bases := map[string][]Base{}
	var channels []string
	for _, r := range f.Extra.Releases {
		if !slices.Contains(channels, r.Channel) {
			channels = append(channels, r.Channel)
		}
		bases[r.Channel] = append(bases[r.Channel], r.Base)
	}
	if len(channels) == 0 {
		return noRelease(text + "no releases available")
	}
	var there []string
	for _, c := range channels {
		there = append(there, fmt.Sprintf("channel %q: available bases are: %s", c, strings.Join(baseTexts(bases[c]), ", ")))
	}
	return noRelease(text + "available releases are: " + strings.Join(there, "; "))
}
