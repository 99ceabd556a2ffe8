package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/pflag"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
)

// hubFlags say which release of a charm or bundle in a hub is meant.
type hubFlags struct {
	channel  string
	revision int
	offline  bool
}

// latest is the revision of who hasn't said any.
const latest = charmhub.Latest

func (f *hubFlags) declare(fs *pflag.FlagSet) {
	fs.StringVar(&f.channel, "channel", "", "the channel of a hub's charm or bundle, as 14/stable or edge; later refreshes follow it")
	fs.IntVar(&f.revision, "revision", latest, "the revision of a hub's charm or bundle")
	f.declareOffline(fs)
}

func (f *hubFlags) declareOffline(fs *pflag.FlagSet) {
	fs.BoolVar(&f.offline, "offline", false, "ask no hub: take what was had from it before")
}

// check says what is wrong with the flags.
func (f hubFlags) check() error {
	if f.channel != "" {
		if _, err := charmhub.ParseChannel(f.channel); err != nil {
			return Usagef("error in --channel: %v", err)
		}
	}
	if f.revision < latest {
		return Usagef("invalid value \"%d\" for option --revision: not a revision", f.revision)
	}
	return nil
}

// checkCharm and checkBundle are the errors of a release that later refreshes couldn't
// follow, and of two that exclude each other.
// Source: docs/spec/juju-clients.md §10.2.
func (f hubFlags) checkCharm() error {
	if f.revision != latest && f.channel == "" {
		return errors.New("specifying a revision requires a channel for future upgrades. Please use --channel")
	}
	return nil
}

func (f hubFlags) checkBundle() error {
	if f.revision != latest && f.channel != "" {
		return errors.New("revision and channel are mutually exclusive when deploying a bundle. Please choose one.")
	}
	return nil
}

// followed has charms be found as the model says, or, before there is one, as the first
// one will say.
func (a charmVerbs) followed(f hubFlags) error {
	a.Offline = f.offline
	c, err := a.Open()
	if err != nil {
		return err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return err
	}
	if len(infos) == 0 {
		recorded, err := c.Recorded(a.Context())
		if err != nil {
			return err
		}
		return a.FollowingNew(recorded)
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	return a.Following(m)
}

// splitRevisions takes values NAME=REVISION for resources apart from others.
// Source: docs/spec/juju-clients.md §12.4.
func splitRevisions(args []string) (others []string, revisions map[string]int) {
	revisions = map[string]int{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && name != "" {
			revisions[name] = n
		} else {
			others = append(others, arg)
		}
	}
	return others, revisions
}

// baseFlags are --base, and --series, which is the same of old.
type baseFlags struct{ base, series string }

func (f *baseFlags) declareSeries(fs *pflag.FlagSet) {
	fs.StringVar(&f.series, "series", "", "deprecated: use --base")
}

// parse is the base that the flags say; zero: none.
// Source: docs/spec/juju-clients.md §0.
func (f baseFlags) parse(note func(format string, args ...any)) (model.Base, error) {
	switch {
	case f.series != "" && f.base != "":
		return model.Base{}, Usagef("--series and --base cannot be specified together")
	case f.series != "":
		note("WARNING series flag is deprecated, use --base instead")
		base, ok := model.BaseOfSeries(f.series)
		if !ok {
			return base, Usagef("series %q not valid", f.series)
		}
		return base, nil
	case f.base == "":
		return model.Base{}, nil
	}
	base, err := model.ParseBase(f.base)
	if err != nil {
		return base, Usagef("--base: %v", err)
	}
	return base, nil
}

// releaseText says what is deployed, and on what.
// Source: docs/spec/juju-clients.md §10.2.
func releaseText(application string, r charmhub.Release, base string) string {
	text := fmt.Sprintf("%q from %s", application, deploy.From(r))
	if base != "" {
		text += " on " + base + "/stable"
	}
	return text
}
