package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

// caches is the verb cache, and what others need that add to what it shows.
type caches struct{ deploying }

const (
	// limitVariable says how much packages, images and charms may take on this host.
	limitVariable = "UNITD_CACHE_LIMIT"
	// usualLimit holds where it says nothing, and noLimit says that there is none.
	usualLimit = "20G"
	noLimit    = "none"
)

func (a caches) cacheCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "List and clear the packages, images and charms that this host keeps",
		Long: `Look after what this host keeps: the packages that charms' source trees are built
with, the images of workload containers, the charms of the models, and what was
downloaded from Charmhub. Packages, images and downloads that were removed are
installed or fetched again when needed.`,
		Example: "  unitd cache list\n  unitd cache prune --limit 5G",
		Args:    Args(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.cacheListCmd(), a.cachePruneCmd())
	return cmd
}

func (a caches) cacheListCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List packages, images, charms and downloads, with their sizes, last use and users",
		Long: `List what this host keeps, with its size, when it was last used, and who uses it.
Users are applications of this store's models, as MODEL/APPLICATION; other data
directories, which only their own commands can look into; and processes.`,
		Example: "  unitd cache list\n  unitd cache list --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			s, err := a.stock()
			if err != nil {
				return err
			}
			if limit, ok, err := cacheLimit(); err != nil {
				return err
			} else if ok {
				s.Limit = &limit
			}
			if format != "tabular" {
				return a.write(format, output, s)
			}
			return a.text(output, s.table())
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a caches) cachePruneCmd() *cobra.Command {
	var format, output, limit string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove the packages, images, charms and downloads that no model of this host uses",
		Long: `Remove the packages, images, charms and downloads that no model uses. With --limit, remove only
as many as needed to get down to that size, starting with charms, then those used
longest ago.

The packages that an application's charm was built with stay, and so do images that
an application, a container or a process uses, and charms that an application or a
unit has or could be rolled back to. Packages that another data directory has used
stay as long as that directory exists. The command waits while an image is being
fetched.`,
		Example: "  unitd cache prune\n  unitd cache prune --limit 5G",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			mib, err := model.ParseSize(cmp.Or(limit, "0"))
			if err != nil {
				return Usagef("--limit: %v", err)
			}
			p, err := a.pruneAll(int64(mib) << 20)
			if err != nil {
				return err
			}
			if format != "tabular" {
				return a.write(format, output, p)
			}
			return a.text(output, p.table())
		},
	}
	cmd.Flags().StringVar(&limit, "limit", "", "how much may be left, such as 5G or 500M; what is used stays in any case")
	cmd.Flags().StringVar(&format, "format", "tabular", "tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

// pruneAll is prune as a person asks for it, with what processes have left that were
// killed.
func (a caches) pruneAll(limit int64) (pruned, error) {
	s, err := a.stock()
	if err != nil {
		return pruned{}, err
	}
	p, err := a.prune(s, limit, true)
	if err != nil {
		return p, err
	}
	if err := a.forgetUses(s); err != nil {
		return p, err
	}
	dir, err := deploy.CacheDir()
	if err != nil {
		return p, err
	}
	if err := charmbuild.Sweep(dir); err != nil {
		return p, err
	}
	return p, sweepDownloads()
}

// cacheLimit is how many bytes all that is kept may take; not ok: as many as they
// like.
func cacheLimit() (limit int64, ok bool, err error) {
	text := cmp.Or(os.Getenv(limitVariable), usualLimit)
	if text == noLimit {
		return 0, false, nil
	}
	mib, err := model.ParseSize(text)
	if err != nil {
		return 0, false, errors.NewNotValid(nil, fmt.Sprintf("%s: %v, or %q", limitVariable, err, noLimit))
	}
	return int64(mib) << 20, true, nil
}

// manyUses are so many notes on packages that they are looked through.
const manyUses = 100

// limitCache keeps what this host keeps below its limit, after a command that may have
// added to it. That it can't is no fault of what the command did: it is said in a line.
func (a caches) limitCache() {
	if _, inLab, err := agent.LabTime(); err != nil || inLab {
		return // what a script leaves isn't kept
	}
	if err := a.limitSize(); err != nil && a.Context().Err() == nil {
		a.Note("WARNING cannot keep the cache below its limit: %v", err)
	}
}

func (a caches) limitSize() error {
	limit, limited, err := cacheLimit()
	if err != nil || !limited {
		return err
	}
	packages, err := a.keptPackages()
	if err != nil {
		return err
	}
	_, size, err := a.keptImages()
	if err != nil {
		return err
	}
	charms, err := a.keptCharms()
	if err != nil {
		return err
	}
	downloads, err := keptDownloads()
	if err != nil {
		return err
	}
	for _, d := range downloads {
		size += d.Size
	}
	size += sizeOnce(charms)
	many := false
	for _, p := range packages {
		size, many = size+p.Size, many || len(p.uses) > manyUses
	}
	if size <= limit && !many {
		return nil
	}
	s, err := a.stock()
	if err != nil {
		return err
	}
	if err := a.forgetUses(s); err != nil {
		return err
	}
	p, err := a.prune(s, limit, false)
	if len(p.Removed) > 0 {
		a.Note("Removed %s that no model used from the cache, to keep it below %s (%s)", bytesText(p.Freed), bytesText(limit), limitVariable)
	}
	return err
}

// added is Ensure after what may have added to the cache.
func (a caches) added() error {
	a.limitCache()
	return a.Ensure()
}

func (s stocked) table() string {
	var last string
	if last = bytesText(s.Size) + " in all, without a limit"; s.Limit != nil {
		last = fmt.Sprintf("%s in all, of %s", bytesText(s.Size), bytesText(*s.Limit))
	}
	if len(s.Items) == 0 {
		return "Nothing is kept.\n"
	}
	rows := [][]render.Cell{render.Heads("Kind", "Name", "ID", "Size", "Last used", "Used by")}
	for _, k := range s.Items {
		by := cmp.Or(strings.Join(k.By, ", "), "-")
		rows = append(rows, []render.Cell{{Text: k.Kind}, {Text: render.Harmless(k.Name)}, {Text: k.shortID()}, {Text: bytesText(k.Size), Right: true},
			{Text: cmp.Or(k.Used, "-")}, {Text: render.Harmless(by)}})
	}
	t := &render.Table{}
	t.Block(rows)
	return t.String() + "\n" + last + "\n"
}

// shortID is as much of an ID as tells it from others.
func (k kept) shortID() string {
	id := strings.TrimPrefix(k.ID, "sha256:")
	id = strings.TrimPrefix(strings.TrimPrefix(id, "sha256-"), "sha384-") // of downloads
	return id[:min(len(id), 12)]
}

func (p pruned) table() string {
	var b strings.Builder
	for _, k := range p.Removed {
		fmt.Fprintf(&b, "removed %s %s %s, %s\n", k.Kind, render.Harmless(k.Name), k.shortID(), bytesText(k.Size))
	}
	if len(p.Removed) == 0 {
		b.WriteString("There is nothing to remove.\n")
	}
	fmt.Fprintf(&b, "freed %s, %s left\n", bytesText(p.Freed), bytesText(p.Left))
	return b.String()
}

// bytesText is a size in bytes for people.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%dB", n)
	case n < 1<<20:
		return fmt.Sprintf("%dKiB", (n+1<<9)>>10)
	}
	return model.SizeText(uint64(n+1<<19) >> 20)
}
