// Package folder has a directory of charms stand for a hub: it answers as Charmhub's API
// does, so that whoever asks can't tell them apart.
//
// The directory's files say by their names what they are; other files are passed over:
//
//	NAME[_rN][_CHANNEL…].charm    a charm; its name is that of its metadata
//	NAME[_rN][_CHANNEL…].bundle   a bundle: an archive with a bundle.yaml
//	CHARM.RESOURCE[_rN][.EXT]     a resource of a charm
//
// N is the revision, 0 where none is said. A CHANNEL is a risk, for one of the track
// "latest", or TRACK-RISK: edge, 14-stable. A file that names none is released to
// latest/stable; other words between underscores mean nothing, as those that say a base.
// A channel has the highest revision that is released to it, for each base that charms
// name; one that has none for a base has what the next safer risk of its track has.
package folder

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// Hub answers for a directory, as it was when it was opened. It is safe for use by many
// goroutines.
type Hub struct {
	dir       string // absolute
	releases  []release
	resources []resource
}

// release is a file with a charm or bundle.
type release struct {
	file, name, kind string
	revision         int
	channels         []charmhub.Channel
	bases            []charmhub.Base
	charm            model.Charm
	bundle           string // its bundle.yaml
	size             int64
	at               string // its time
}

// resource is a file for a charm's resource.
type resource struct {
	file, charm, name string
	revision          int
}

const latest = "latest"

// anywhere is the base of a charm that names none.
func anywhere() charmhub.Base { return charmhub.Base{Architecture: "all", Name: "all", Channel: "all"} }

// Open reads a directory. Errors: NotFound where there is none, NotValid for files that
// can't be what their names say, and for two that are the same revision.
func Open(dir string) (*Hub, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("there is no directory %s for charms", dir))
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the directory of charms")
	}
	h := &Hub{dir: dir}
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := h.add(e.Name()); err != nil {
			return nil, errors.Annotatef(err, "%s", filepath.Join(dir, e.Name()))
		}
	}
	slices.SortStableFunc(h.releases, func(a, b release) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(b.revision, a.revision))
	})
	slices.SortStableFunc(h.resources, func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.charm, b.charm), cmp.Compare(a.name, b.name), cmp.Compare(b.revision, a.revision))
	})
	for i := 1; i < len(h.releases); i++ {
		if a, b := h.releases[i-1], h.releases[i]; a.name == b.name && a.revision == b.revision {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("%s: %s and %s are both revision %d of %q: have one say another, as in %[5]s_r%d",
				dir, a.file, b.file, a.revision, a.name, a.revision+1))
		}
	}
	return h, nil
}

// URL is that of the directory as a hub.
func (h *Hub) URL() string { return (&url.URL{Scheme: "file", Path: h.dir}).String() }

func (h *Hub) add(file string) error {
	ext := filepath.Ext(file)
	name, revision, channels := parts(strings.TrimSuffix(file, ext))
	r := release{file: file, name: name, revision: revision, channels: channels}
	switch ext {
	case ".charm":
		return h.addCharm(r)
	case ".bundle":
		return h.addBundle(r)
	}
	charm, rest, ok := strings.Cut(file, ".")
	if !ok || !charmhub.ValidName(charm) {
		return nil
	}
	rest, _, _ = strings.Cut(rest, ".")
	res := resource{file: file, charm: charm, name: rest}
	if i := strings.LastIndex(rest, "_"); i > 0 && revisionForm.MatchString(rest[i+1:]) {
		res.name = rest[:i]
		res.revision, _ = strconv.Atoi(rest[i+2:])
	}
	h.resources = append(h.resources, res)
	return nil
}

var revisionForm = pattern.New(`^r[0-9]{1,9}$`)

// parts are what a file's name says.
func parts(text string) (name string, revision int, channels []charmhub.Channel) {
	words := strings.Split(text, "_")
	name = words[0]
	for _, word := range words[1:] {
		if revisionForm.MatchString(word) {
			revision, _ = strconv.Atoi(word[1:])
		} else if c, ok := channel(word); ok {
			channels = append(channels, c)
		}
	}
	if len(channels) == 0 {
		channels = []charmhub.Channel{{Track: latest, Risk: charmhub.Stable}}
	}
	return name, revision, channels
}

func channel(word string) (charmhub.Channel, bool) {
	c := charmhub.Channel{Track: latest, Risk: word}
	if i := strings.LastIndex(word, "-"); i > 0 {
		c = charmhub.Channel{Track: word[:i], Risk: word[i+1:]}
	}
	return c, slices.Contains(charmhub.Risks(), c.Risk)
}

func (h *Hub) addCharm(r release) error {
	c, err := charmdir.ReadArchive(filepath.Join(h.dir, r.file))
	if err != nil {
		return err
	}
	r.name, r.kind, r.charm = c.Name, charmhub.TypeCharm, c.Charm
	if first := c.Base(); first.Name != "" {
		r.bases = append(r.bases, charmhub.Base{Architecture: "all", Name: first.Name, Channel: first.Channel})
	}
	for _, b := range c.Bases {
		base := charmhub.Base{Architecture: "all", Name: b.Name, Channel: b.Channel}
		if !slices.Contains(r.bases, base) {
			r.bases = append(r.bases, base)
		}
	}
	return h.addFile(r)
}

// maxBundle is how long a bundle.yaml may be.
const maxBundle = 4 << 20

func (h *Hub) addBundle(r release) error {
	z, err := zip.OpenReader(filepath.Join(h.dir, r.file))
	if err != nil {
		return errors.NewNotValid(nil, "it is no bundle: "+err.Error())
	}
	defer z.Close()
	f, err := z.Open("bundle.yaml")
	if err != nil {
		return errors.NewNotValid(nil, "it is no bundle, as it has no bundle.yaml")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBundle))
	if err != nil {
		return errors.NewNotValid(nil, "it is no bundle: "+err.Error())
	}
	r.kind, r.bundle = charmhub.TypeBundle, string(b)
	return h.addFile(r)
}

func (h *Hub) addFile(r release) error {
	st, err := os.Stat(filepath.Join(h.dir, r.file))
	if err != nil {
		return errors.Trace(err)
	}
	if len(r.bases) == 0 {
		r.bases = []charmhub.Base{anywhere()}
	}
	r.size, r.at = st.Size(), st.ModTime().UTC().Format("2006-01-02T15:04:05.000000+00:00")
	h.releases = append(h.releases, r)
	return nil
}

// download says where a file is, and what it is told by.
func (h *Hub) download(file, base string) (charmhub.Download, error) {
	f, err := os.Open(filepath.Join(h.dir, file))
	if err != nil {
		return charmhub.Download{}, errors.Trace(err)
	}
	defer f.Close()
	short, long := sha256.New(), sha512.New384()
	n, err := io.Copy(io.MultiWriter(short, long), f)
	return charmhub.Download{
		URL: base + "/" + url.PathEscape(file), Size: n,
		SHA256: hex.EncodeToString(short.Sum(nil)), SHA384: hex.EncodeToString(long.Sum(nil)),
	}, errors.Trace(err)
}
