package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/model"
)

// downloadFlags are the flags of download.
type downloadFlags struct {
	arch, path, url string
	noProgress      bool
	hub             hubFlags
	base            baseFlags
}

func (a hubVerbs) downloadCmd() *cobra.Command {
	var f downloadFlags
	cmd := &cobra.Command{
		Use:   "download CHARM [-]",
		Short: "Download a charm or bundle from Charmhub as a file",
		Long: `Download a charm or bundle from Charmhub to NAME_rREVISION.charm, or .bundle, in the
current directory; - writes it to standard output. A directory of such files can stand
for a hub.`,
		Example: "  unitd download postgresql --channel 14/stable\n  unitd download postgresql --filepath /srv/charms/postgresql_r420_14-stable.charm",
		Args:    Args(1, 2, "expected a charm or bundle name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && args[1] != "-" {
				return Usagef("unrecognized args: [%q]", args[1])
			}
			fs := cmd.Flags()
			if f.hub.revision != latest && (fs.Changed("arch") || fs.Changed("base") || fs.Changed("channel") || fs.Changed("series")) {
				return Usagef("--revision cannot be specified together with --arch, --base, --channel or --series")
			}
			return a.download(args[0], len(args) == 2, f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.arch, "arch", "", "for this architecture instead of this host's")
	fs.StringVar(&f.base.base, "base", "", "for this base")
	f.base.declareSeries(fs)
	f.hub.declare(fs)
	fs.StringVar(&f.path, "filepath", "", "the file to write")
	fs.BoolVar(&f.noProgress, "no-progress", false, "do not show how far it is")
	declareHubURL(cmd, &f.url)
	return cmd
}

// download writes a charm or bundle to a file.
// Source: docs/spec/juju-clients.md §12.11.
func (a hubVerbs) download(word string, print bool, f downloadFlags) error {
	name, err := a.name(word)
	if err != nil {
		return err
	}
	if err := f.hub.check(); err != nil {
		return err
	}
	base, err := f.base.parse(a.Note)
	if err != nil {
		return err
	}
	hub, err := a.at(f.url)
	if err != nil {
		return err
	}
	hub.Offline, hub.HowElse = f.hub.offline, ""
	if f.noProgress {
		hub.Progress = nil
	}
	if f.arch != "" {
		if err := checkArchitecture(f.arch); err != nil || f.arch == "all" {
			return Usagef("unexpected architecture flag value %q, expected <%s>", f.arch, strings.Join(architectures(), "|"))
		}
		hub.Architecture = f.arch
	}
	r, err := a.toDownload(hub, name, base, f)
	if err != nil {
		return err
	}
	a.Note("Fetching %s %q revision %d using %q channel and base %q", r.Type, r.Name, r.Revision, r.Channel, baseText(hub, r))
	kept, err := hub.Fetch(a.Context(), r)
	if errors.Is(err, charmhub.ErrHash) {
		return errors.Errorf("Checksum of download failed for %q: %v", r.Name, err)
	}
	if err != nil {
		return err
	}
	if print {
		in, err := os.Open(kept)
		if err != nil {
			return errors.Trace(err)
		}
		defer in.Close()
		_, err = io.Copy(a.Out, in)
		return errors.Annotate(err, "cannot print the result")
	}
	return a.keepDownload(kept, r, f.path)
}

// toDownload is the release that is meant.
func (a hubVerbs) toDownload(hub *charmhub.Client, name string, base model.Base, f downloadFlags) (charmhub.Release, error) {
	want := charmhub.Want{Name: name, Revision: f.hub.revision, Base: charmhub.Base{Name: base.Name, Channel: base.Channel}}
	if f.hub.channel != "" {
		var err error
		if want.Channel, err = charmhub.ParseChannel(f.hub.channel); err != nil {
			return charmhub.Release{}, err
		}
	}
	r, err := hub.Look(a.Context(), want)
	channel := want.Channel.Or(charmhub.Channel{Risk: charmhub.Stable})
	switch {
	case !errors.Is(err, charmhub.ErrNoRelease):
		if errors.Is(err, errors.NotFound) {
			err = errors.NewNotFound(nil, fmt.Sprintf("unable to locate %s: %v", name, err))
		}
		return r, err
	case base == (model.Base{}):
		return r, errors.NewNotFound(nil, fmt.Sprintf("%q has no releases in channel %q. Type\n    %s info %[1]s\nfor a list of supported channels.", name, channel, a.Command()))
	}
	want.Base = charmhub.Base{}
	other, otherErr := hub.Look(a.Context(), want)
	if otherErr != nil {
		return r, err
	}
	var texts []string
	for _, b := range basesOf(other) {
		texts = append(texts, b.String())
	}
	return r, errors.NewNotFound(nil, fmt.Sprintf("%q does not support base %q in channel %q. Supported bases are: %s.", name, base, channel, strings.Join(texts, ", ")))
}

// baseText is what a release is for.
func baseText(hub *charmhub.Client, r charmhub.Release) string {
	if !r.Base.Known() {
		return hub.Architecture
	}
	return hub.Architecture + "/" + r.Base.Name + "/" + r.Base.Channel
}

// keepDownload writes what was downloaded to the file that a person wants.
func (a hubVerbs) keepDownload(kept string, r charmhub.Release, path string) error {
	if path == "" {
		path = fmt.Sprintf("%s_r%d.%s", r.Name, r.Revision, r.Type)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".unitd-download-")
	if err != nil {
		return errors.Annotate(err, "cannot write the file")
	}
	defer os.RemoveAll(dir)
	temp := filepath.Join(dir, "part")
	if err = copyTo(temp, kept); err == nil {
		err = os.Chmod(temp, 0o644)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Annotate(err, "cannot write the file")
	}
	shown := path
	if !strings.HasPrefix(shown, "/") && !strings.HasPrefix(shown, ".") {
		shown = "./" + shown
	}
	a.Note("Install the %q %s with:\n    %s deploy %s", r.Name, r.Type, a.Command(), shown)
	return nil
}
