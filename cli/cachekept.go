package cli

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/state"
)

// kept is something that this host keeps, as people see it.
type kept struct {
	// Kind is package, image, charm, or download, which is of a hub.
	Kind string `json:"kind" yaml:"kind"`
	// Name is what people call it: the charm that packages are for, an image's
	// reference, a charm's URL, a hub's charm with its revision.
	Name string `json:"name" yaml:"name"`
	// ID is the key of packages, the digest of an image, the hash of a charm or download.
	ID string `json:"id" yaml:"id"`
	// Size is in bytes, Shared what other images have as well.
	Size   int64 `json:"size" yaml:"size"`
	Shared int64 `json:"shared,omitempty" yaml:"shared,omitempty"`
	// Used is when it was used last; empty: nobody knows, as of charms.
	Used string `json:"last-used,omitempty" yaml:"last-used,omitempty"`
	// By are those who use it: MODEL/APPLICATION, and others in words.
	By []string `json:"used-by,omitempty" yaml:"used-by,omitempty"`

	at   time.Time
	uses []charmbuild.Use
	url  string       // of a charm
	in   *state.Model // that has the charm
	sum  string       // the SHA-256 of a download
}

// The kinds of what a host keeps.
const (
	keptPackages = "package"
	keptImage    = "image"
	keptCharm    = "charm"
	keptDownload = "download"
)

// stocked is all that this host keeps. Size is what it takes together: charms of the
// same content are there once.
type stocked struct {
	Items []kept `json:"items" yaml:"items"`
	Size  int64  `json:"size" yaml:"size"`
	// Limit is what it is kept below; nil: it has none.
	Limit *int64 `json:"limit,omitempty" yaml:"limit,omitempty"`

	images int64
	seen   time.Time // since when what is used now isn't known
}

// inUse is what the models of a store are made of: by the hash of a charm's archive, and
// by an image's digest, the applications.
type inUse struct {
	charms, images map[string][]string
	held           []kept // the charms
}

// inUse looks into all models of this command's store.
func (a caches) inUse() (inUse, error) {
	use := inUse{charms: map[string][]string{}, images: map[string][]string{}}
	c, err := a.Open()
	if err != nil {
		return use, err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return use, err
	}
	for _, info := range infos {
		if err := a.usedIn(c.Open(info), &use); err != nil {
			return use, errors.Annotatef(err, "cannot tell what model %q uses", info.Name)
		}
	}
	return use, nil
}

// usedIn adds what a model uses.
func (a caches) usedIn(m *state.Model, use *inUse) error {
	charms, err := m.Charms(a.Context())
	if err != nil {
		return err
	}
	apps, err := m.Applications(a.Context())
	if err != nil {
		return err
	}
	runs, has := map[string][]string{}, map[string][]string{} // by a charm's URL
	for _, app := range apps {
		who := m.Name() + "/" + app.Name
		runs[app.Charm] = append(runs[app.Charm], who)
		addUse(has, app.Charm, who)
		for _, r := range app.Resources {
			if r.Image != nil {
				addUse(use.images, r.Image.Digest, who)
			}
			addUse(use.charms, r.SHA256, who)
		}
	}
	for _, app := range apps {
		for _, f := range app.Former {
			addUse(has, f.Charm, m.Name()+"/"+app.Name)
			for _, r := range f.Images {
				if r.Image != nil && !refetched(r.Image.Reference) {
					addUse(use.images, r.Image.Digest, m.Name()+"/"+app.Name)
				}
			}
		}
	}
	if err := a.usedByUnits(m, use, has); err != nil {
		return err
	}
	for _, c := range charms {
		use.held = append(use.held, kept{Kind: keptCharm, Name: m.Name() + "/" + c.URL, ID: c.SHA256, Size: c.Size, By: sorted(has[c.URL]), url: c.URL, in: m})
		for _, who := range runs[c.URL] {
			addUse(use.charms, c.SHA256, who)
		}
	}
	return nil
}

// refetched says whether an image can be had again that isn't in the cache any more:
// a rollback wants what an application had before.
func refetched(reference string) bool {
	ref, err := oci.Parse(reference)
	return err == nil && ref.Kind == oci.Registry
}

// usedByUnits adds the charms that units have, and the charms and images of pods that
// they have, are to have, or have had: their applications may have been given others.
func (a caches) usedByUnits(m *state.Model, use *inUse, charms map[string][]string) error {
	units, err := m.Units(a.Context())
	if err != nil {
		return err
	}
	for _, u := range units {
		who := m.Name() + "/" + u.Name.Application()
		addUse(charms, u.Charm, who)
		if !u.Pod {
			continue
		}
		pod, err := m.Pod(a.Context(), u.Name)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return err
		}
		pods := []state.Pod{pod.Wanted}
		if pod.Former != nil {
			pods = append(pods, *pod.Former)
		}
		for _, p := range pods {
			addUse(charms, p.Charm, who)
			for _, image := range p.Images {
				addUse(use.images, image.Digest, who)
			}
		}
		told, err := m.Containers(a.Context(), u.Name)
		if err != nil {
			return err
		}
		for _, c := range told.Containers {
			addUse(use.images, c.Digest, who)
		}
	}
	return nil
}

func addUse(of map[string][]string, id, who string) {
	if id != "" && !slices.Contains(of[id], who) {
		of[id] = append(of[id], who)
	}
}

// stock is all that this host keeps, and who uses it.
func (a caches) stock() (stocked, error) {
	s := stocked{Items: []kept{}, seen: time.Now()}
	// What a process holds comes before what models use: it lets go once a model does.
	packages, err := a.keptPackages()
	if err != nil {
		return s, err
	}
	images, size, err := a.keptImages()
	if err != nil {
		return s, err
	}
	downloads, err := keptDownloads()
	if err != nil {
		return s, err
	}
	use, err := a.inUse()
	if err != nil {
		return s, err
	}
	owner, err := a.Owner()
	if err != nil {
		return s, err
	}
	for _, p := range packages {
		s.Size += p.Size
		by := p.By
		for _, u := range p.uses {
			by = append(by, usersOf(owner, u, use)...)
		}
		p.By = sorted(by)
		s.Items = append(s.Items, p)
	}
	s.images, s.Size = size, s.Size+size
	for _, i := range images {
		i.By = sorted(append(i.By, use.images[i.ID]...))
		s.Items = append(s.Items, i)
	}
	for _, d := range downloads {
		d.By = sorted(append(d.By, use.charms[d.sum]...))
		s.Items, s.Size = append(s.Items, d), s.Size+d.Size
	}
	slices.SortStableFunc(use.held, func(a, b kept) int { return strings.Compare(a.Name, b.Name) })
	s.Items, s.Size = append(s.Items, use.held...), s.Size+sizeOnce(use.held)
	return s, nil
}

// keptCharms are those of all models; who uses them isn't known yet.
func (a caches) keptCharms() (all []kept, err error) {
	c, err := a.Open()
	if err != nil {
		return nil, err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		charms, err := c.Open(info).Charms(a.Context())
		if err != nil {
			return nil, err
		}
		for _, c := range charms {
			all = append(all, kept{Kind: keptCharm, ID: c.SHA256, Size: c.Size})
		}
	}
	return all, nil
}

// sizeOnce is what charms take together.
func sizeOnce(charms []kept) (size int64) {
	seen := map[string]bool{}
	for _, c := range charms {
		if !seen[c.ID] {
			seen[c.ID], size = true, size+c.Size
		}
	}
	return size
}

func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// keptPackages are those of the cache; who uses them isn't known yet, but for
// processes.
func (a caches) keptPackages() ([]kept, error) {
	dir, err := deploy.CacheDir()
	if err != nil {
		return nil, err
	}
	all, err := charmbuild.List(dir)
	if err != nil {
		return nil, err
	}
	var out []kept
	for _, k := range all {
		p := kept{Kind: keptPackages, Name: cmp.Or(k.Charm, "-"), ID: k.Key, Size: k.Size, Used: stamp(k.Used), at: k.Used, uses: k.Uses}
		if k.Held && !a.BuiltWith(k.Key) {
			p.By = []string{"a process"}
		}
		out = append(out, p)
	}
	return out, nil
}

// keptImages are those of the data directory, and what they take together.
func (a caches) keptImages() ([]kept, int64, error) {
	dir, err := agent.DataDir()
	if err != nil {
		return nil, 0, err
	}
	cache, end := deploy.ImageCache(dir)
	defer end()
	all, size, err := cache.Stock(a.Context())
	if err != nil {
		return nil, 0, err
	}
	elsewhere := a.SameStore(dir) != nil
	var out []kept
	for _, i := range all {
		k := kept{Kind: keptImage, Name: strings.Join(i.References, " "), ID: i.Digest, Size: i.Size, Shared: i.Shared, Used: stamp(i.Used), at: i.Used}
		if i.Held {
			k.By = append(k.By, "a process")
		}
		if elsewhere {
			k.By = append(k.By, "the agent, which works on another store")
		}
		out = append(out, k)
	}
	return out, size, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// users are those who use what was noted: applications of this command's store; another
// data directory, or another store, which only its own commands can look into; nobody,
// where the directory is gone.
func usersOf(o deploy.Owner, u charmbuild.Use, use inUse) []string {
	switch {
	case u.Data == o.Data && u.Store == o.Store:
		return use.charms[u.Charm]
	case u.Data == o.Data:
		return []string{"store " + u.Store}
	}
	if _, err := os.Stat(u.Data); os.IsNotExist(err) {
		return nil
	}
	return []string{u.Data}
}
