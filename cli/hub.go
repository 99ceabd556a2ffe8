package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

// hubVerbs look into hubs. They need no model.
type hubVerbs struct{ charmVerbs }

// at is a client of the hub that the environment names, else the flag.
// Source: docs/spec/juju-clients.md §12.7.
func (a hubVerbs) at(flag string) (*charmhub.Client, error) {
	return a.HubAt(cmp.Or(os.Getenv(deploy.HubVariable), flag, charmhub.DefaultURL))
}

// name checks the name of a charm or bundle of a hub.
func (a hubVerbs) name(word string) (string, error) {
	name := strings.TrimPrefix(word, "ch:")
	switch {
	case deploy.IsPath(word):
		return "", Usagef("%q is not a Charm Hub charm", word)
	case !charmhub.ValidName(name):
		return "", Usagef("charm or bundle name, %q, is not valid", word)
	}
	return name, nil
}

// declareHubURL declares the flag for the hub.
func declareHubURL(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "charmhub-url", "", "the hub, or a directory of charms; CHARMHUB_URL comes first")
}

// architectures are those that hubs have.
func architectures() []string { return []string{"amd64", "arm64", "ppc64el", "riscv64", "s390x"} }

func checkArchitecture(arch string) error {
	if known := append([]string{"all"}, architectures()...); !slices.Contains(known, arch) {
		return Usagef("unexpected architecture flag value %q, expected <%s>", arch, strings.Join(known, "|"))
	}
	return nil
}

// infoFlags are the flags of info.
type infoFlags struct {
	arch, channel, unicode, url, format, output string
	config                                      bool
	base                                        baseFlags
}

func (a hubVerbs) infoCmd() *cobra.Command {
	var f infoFlags
	cmd := &cobra.Command{
		Use:     "info CHARM",
		Short:   "Tell of a charm or bundle in Charmhub, and of its channels",
		Example: "  unitd info postgresql\n  unitd info postgresql --channel 14/stable --format yaml",
		Args:    Args(1, 1, "expected a charm or bundle name"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.info(args[0], f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.arch, "arch", "all", "show releases for this architecture alone")
	fs.StringVar(&f.base.base, "base", "", "show releases for this base alone")
	fs.StringVar(&f.base.series, "series", "all", "deprecated: use --base")
	fs.StringVar(&f.channel, "channel", "", "show this channel alone")
	fs.BoolVar(&f.config, "config", false, "show the charm's options")
	fs.StringVar(&f.unicode, "unicode", "auto", "auto, never or always: show closed channels by arrows")
	declareHubURL(cmd, &f.url)
	fs.StringVar(&f.format, "format", "tabular", "tabular, yaml or json")
	fs.StringVarP(&f.output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "yaml", "json")
	return cmd
}

func (a hubVerbs) info(word string, f infoFlags) error {
	name, err := a.name(word)
	if err != nil {
		return err
	}
	if err := checkArchitecture(f.arch); err != nil {
		return err
	}
	if !slices.Contains([]string{"auto", "never", "always"}, f.unicode) {
		return Usagef("unexpected unicode flag value %q, expected <auto|never|always>", f.unicode)
	}
	if f.base.series == "all" {
		f.base.series = ""
	}
	base, err := f.base.parse(a.Note)
	if err != nil {
		return err
	}
	var channel charmhub.Channel
	if f.channel != "" {
		if channel, err = charmhub.ParseChannel(f.channel); err != nil {
			return Usagef("error in --channel: %v", err)
		}
	}
	hub, err := a.at(f.url)
	if err != nil {
		return err
	}
	info, err := hub.Info(a.Context(), name, channel)
	if err != nil {
		return err
	}
	shown, err := hubInfo(info, f.arch, base)
	if err != nil {
		return err
	}
	if f.format != "tabular" {
		return a.write(f.format, f.output, shown)
	}
	unicode := f.unicode == "always" || f.unicode == "auto" && speaksUnicode()
	text, err := render.InfoText(shown, charmhub.Risks(), unicode, f.config, base != (model.Base{}))
	if err != nil {
		return errors.Annotate(err, "cannot print the result")
	}
	return a.text(f.output, text)
}

// speaksUnicode says whether the environment's language is written in UTF-8.
func speaksUnicode() bool {
	lang := strings.ToUpper(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(lang, "UTF-8") || strings.Contains(lang, "UTF8")
}

// findFlags are the flags of find.
type findFlags struct {
	query                        charmhub.Query
	columns, url, format, output string
}

func (a hubVerbs) findCmd() *cobra.Command {
	var f findFlags
	cmd := &cobra.Command{
		Use:     "find [TEXT]",
		Short:   "Find charms and bundles in Charmhub",
		Example: "  unitd find database\n  unitd find --publisher canonical --type charm --columns nvs",
		RunE: func(_ *cobra.Command, args []string) error {
			f.query.Text = strings.Join(args, " ")
			return a.find(f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.query.Category, "category", "", "of this category")
	fs.StringVar(&f.query.Channel, "channel", "", "released to this channel")
	fs.StringVar(&f.query.Type, "type", "", "charm or bundle")
	fs.StringVar(&f.query.Publisher, "publisher", "", "of this publisher")
	fs.StringVar(&f.columns, "columns", "nbvps", "letters: name, bundle, version, publisher, summary, architecture, os, Supports")
	declareHubURL(cmd, &f.url)
	fs.StringVar(&f.format, "format", "tabular", "tabular, yaml or json")
	fs.StringVarP(&f.output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "yaml", "json")
	return cmd
}

func (a hubVerbs) find(f findFlags) error {
	if err := render.CheckColumns(f.columns); err != nil {
		return Usagef("%v", err)
	}
	if t := f.query.Type; t != "" && t != charmhub.TypeCharm && t != charmhub.TypeBundle {
		return Usagef("expected type to be charm or bundle")
	}
	hub, err := a.at(f.url)
	if err != nil {
		return err
	}
	all, err := hub.Find(a.Context(), f.query)
	if err != nil {
		return err
	}
	found := []render.HubFound{}
	for _, info := range all {
		found = append(found, hubFound(info))
	}
	switch {
	case f.format != "tabular":
		return a.write(f.format, f.output, found)
	case len(found) == 0:
		a.Note("No matching charms or bundles")
		return nil
	case f.query == (charmhub.Query{}):
		return a.text(f.output, fmt.Sprintf("Charms and bundles that Charmhub shows who looks for nothing:\n\n%s\"%s info NAME\" tells of one of them.\n", render.FindTable(found, f.columns), a.Command()))
	}
	return a.text(f.output, render.FindTable(found, f.columns))
}

func (a hubVerbs) charmResourcesCmd() *cobra.Command {
	var format, output string
	f := hubFlags{revision: latest}
	cmd := &cobra.Command{
		Use:     "charm-resources CHARM",
		Aliases: []string{"list-charm-resources"},
		Short:   "List the resources that a charm has in Charmhub",
		Example: "  unitd charm-resources postgresql-k8s --channel 14/stable",
		Args:    Args(1, 1, "missing charm"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.charmResources(args[0], f, format, output)
		},
	}
	cmd.Flags().StringVar(&f.channel, "channel", charmhub.Stable, "the channel of the charm")
	f.declareOffline(cmd.Flags())
	cmd.Flags().StringVar(&format, "format", "tabular", "tabular, yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "yaml", "json")
	return cmd
}

// charmResources shows the resources of a channel.
// Source: docs/spec/juju-clients.md §7.5.
func (a hubVerbs) charmResources(word string, f hubFlags, format, output string) error {
	if err := f.check(); err != nil {
		return err
	}
	if deploy.IsPath(word) {
		return errors.NewNotSupported(nil, "only supported with charmhub charms")
	}
	name, err := a.name(word)
	if err != nil {
		return err
	}
	if err := a.followed(f); err != nil {
		return err
	}
	hub, err := a.Hub()
	if err != nil {
		return err
	}
	channel, err := charmhub.ParseChannel(f.channel)
	if err != nil {
		return err
	}
	r, err := hub.Look(a.Context(), charmhub.Want{Name: name, Channel: channel, Revision: latest})
	switch {
	case errors.Is(err, errors.NotFound):
		return errors.NewNotFound(nil, fmt.Sprintf("unable to locate charm %q with matching channel %q", name, f.channel))
	case err != nil:
		return err
	case r.Type == charmhub.TypeBundle:
		a.Note("Bundles have no resources to display.")
		return nil
	}
	all := []render.HubResource{}
	for _, res := range r.Resources {
		all = append(all, render.HubResource{
			Name: res.Name, Type: res.Type, Path: res.Filename, Description: res.Description, Revision: res.Revision,
			Fingerprint: res.Download.SHA384, Size: res.Download.Size, Origin: "store",
		})
	}
	switch {
	case format != "tabular":
		return a.write(format, output, all)
	case len(all) == 0:
		a.Note("No resources to display.")
		return nil
	}
	return a.text(output, render.HubResourcesTable(all))
}

// hubFound is what find shows of one.
func hubFound(info charmhub.Info) render.HubFound {
	f := render.HubFound{
		Type: info.Type, ID: info.ID, Name: info.Name, Publisher: info.Result.Publisher.Name, Summary: info.Result.Summary,
		Version: info.Default.Revision.Version, StoreURL: info.Result.StoreURL,
	}
	for _, b := range info.Default.Revision.Bases {
		f.Architectures = addWord(f.Architectures, b.Architecture)
		if b.Known() {
			f.OS, f.Supports = addWord(f.OS, b.Name), addBase(f.Supports, b)
		}
	}
	return f
}

func addWord(words []string, word string) []string {
	if word == "" || word == "all" || slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}

func addBase(bases []render.HubBase, b charmhub.Base) []render.HubBase {
	track, _, _ := strings.Cut(b.Channel, "/")
	base := render.HubBase{Name: b.Name, Channel: track}
	if !b.Known() || slices.Contains(bases, base) {
		return bases
	}
	return append(bases, base)
}
