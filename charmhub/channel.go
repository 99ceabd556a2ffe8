package charmhub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// Stable is the risk of a channel for which none is said.
const Stable = "stable"

// Risks are all of them, the least one first.
func Risks() []string { return []string{Stable, "candidate", "beta", "edge"} }

// Channel is where a charm is released to: "14/stable", "edge", "14/edge/fix". An empty
// track is the charm's default one; the zero value is no channel at all.
type Channel struct{ Track, Risk, Branch string }

// words are what tracks and branches are made of.
var words = pattern.New(`^[a-zA-Z0-9](?:[a-zA-Z0-9_.-]*[a-zA-Z0-9])?$`)

// ParseChannel reads [TRACK/]RISK[/BRANCH]. One word is a risk, else a track, whose risk
// is stable then; two are RISK/BRANCH, else TRACK/RISK. The error is NotValid.
// Source: docs/spec/juju-clients.md §12.5.
func ParseChannel(text string) (Channel, error) {
	if text == "" {
		return Channel{}, notValid("empty channel not valid")
	}
	parts := strings.Split(text, "/")
	isRisk := slices.Contains(Risks(), parts[0])
	var c Channel
	switch {
	case len(parts) == 1 && isRisk:
		c.Risk = parts[0]
	case len(parts) == 1:
		c.Track, c.Risk = parts[0], Stable
	case len(parts) == 2 && isRisk:
		c.Risk, c.Branch = parts[0], parts[1]
	case len(parts) == 2:
		c.Track, c.Risk = parts[0], parts[1]
	case len(parts) == 3:
		c.Track, c.Risk, c.Branch = parts[0], parts[1], parts[2]
	default:
		return Channel{}, notValid("channel is malformed and has too many components %q", text)
	}
	switch {
	case !slices.Contains(Risks(), c.Risk):
		return Channel{}, notValid("risk in channel %q not valid", text)
	case (len(parts) == 3 || !isRisk) && !words.MatchString(c.Track):
		return Channel{}, notValid("track in channel %q not valid", text)
	case (len(parts) == 3 || len(parts) == 2 && isRisk) && !words.MatchString(c.Branch):
		return Channel{}, notValid("branch in channel %q not valid", text)
	}
	return c, nil
}

// String is the channel as ParseChannel takes it, with its risk; empty for none. The
// track "latest" isn't added.
func (c Channel) String() string {
	if c.Risk == "" {
		return ""
	}
	text := c.Risk
	if c.Track != "" {
		text = c.Track + "/" + text
	}
	if c.Branch != "" {
		text += "/" + c.Branch
	}
	return text
}

// Or is the channel, or another one where it is none.
func (c Channel) Or(other Channel) Channel {
	if c == (Channel{}) {
		return other
	}
	return c
}

// Of is the channel with the track of another one, if it has none itself: who follows
// 14/stable and asks for edge means 14/edge.
func (c Channel) Of(followed Channel) Channel {
	if c.Track == "" {
		c.Track = followed.Track
	}
	return c
}

// Base is what a charm runs on, and for which processor. A name of "NA" is one that
// isn't known, "all" in an answer stands for any.
type Base struct {
	Architecture string `json:"architecture"`
	Name         string `json:"name"`
	Channel      string `json:"channel"`
}

const (
	unknown = "NA"
	all     = "all"
)

// Known says whether it names a system.
func (b Base) Known() bool { return b.Name != "" && b.Name != unknown && b.Name != all }

// String is "ubuntu@24.04", without the architecture; empty where none is known.
func (b Base) String() string {
	if !b.Known() {
		return ""
	}
	track, _, _ := strings.Cut(b.Channel, "/")
	return b.Name + "@" + track
}

// asked is the base as requests have it.
// Source: docs/spec/juju-clients.md §12.2.
func (b Base) asked() Base {
	if !b.Known() {
		return Base{Architecture: b.Architecture, Name: unknown, Channel: unknown}
	}
	track, _, _ := strings.Cut(b.Channel, "/")
	return Base{Architecture: b.Architecture, Name: b.Name, Channel: track}
}

// full is how errors have it.
func (b Base) full() string {
	if !b.Known() {
		return b.Architecture
	}
	return b.Architecture + "/" + b.Name + "/" + b.Channel
}

// runsOn says whether a base of an answer is for an architecture.
func (b Base) runsOn(architecture string) bool {
	return b.Architecture == architecture || b.Architecture == all
}

// Architecture is the hub's word for one of Go's.
func Architecture(goarch string) string {
	if goarch == "ppc64le" {
		return "ppc64el"
	}
	return goarch
}

// baseTexts are bases as people write them, each once, in their order.
func baseTexts(bases []Base) []string {
	var texts []string
	for _, b := range bases {
		if text := b.String(); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func notValid(format string, args ...any) error {
	return errors.NewNotValid(nil, fmt.Sprintf(format, args...))
}
