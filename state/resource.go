package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Resource is what an application was given for a resource of its charm. It is
// part of the application's document, as both go together.
type Resource struct {
	File // zero for an image
	// Image is without its password, which Password has, sealed; nil for a file.
	Image    *model.Image `json:"image,omitempty"`
	Password []byte       `json:"password,omitempty"`
	Revision int          `json:"revision"` // counts what was given, from 1
	// Hub is the revision that it has in a hub; nil: somebody has given it.
	Hub   *int      `json:"hub,omitempty"`
	Given time.Time `json:"given"`
}

// Content is what is given for a resource: a file, or an image if that isn't nil.
// Hub is Resource.Hub.
type Content struct {
	File
	Image *model.Image
	Hub   *int
}

// File is content that the store has by its hash, see StoreFile.
type File struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// StoreFile stores content whose hash is sha (hex), for Deploy, SetCharm and
// SetResources to refer to. What is stored already costs only the comparison.
func (m *Model) StoreFile(ctx context.Context, sha string, r io.Reader) (File, error) {
	size, err := m.storeBlob(ctx, sha, r)
	return File{SHA256: sha, Size: size}, errors.Trace(err)
}

// CheckResources is the error that giving a charm's application those resources
// would have: NotFound for one that the charm doesn't declare, NotValid for a file
// where it wants an image, and the other way round.
func CheckResources(charm model.Charm, given map[string]Content) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		spec, ok := charm.Resources[name]
		image := given[name].Image != nil
		switch {
		case !ok:
			return UnknownResource(charm, name)
		case image && spec.Type != model.OCIImage:
			return errors.NewNotValid(nil, fmt.Sprintf("resource %q of charm %q is a %s: an image can't be it", name, charm.Name, spec.Type))
		case !image && spec.Type != model.FileResource:
			return errors.NewNotValid(nil, fmt.Sprintf("resource %q of charm %q is an %s: a file can't be it", name, charm.Name, spec.Type))
		}
	}
	return nil
}

// UnknownResource is the error of giving a charm's application a resource that the
// charm doesn't declare.
func UnknownResource(charm model.Charm, name string) error {
	return errors.NewNotFound(nil, fmt.Sprintf("unknown resource: %s: charm %q has no resource %[1]q", name, charm.Name))
}

// SetResources gives an Alive application new content for resources of its
// charm. Its units run upgrade-charm, once for all of them; the same content
// again is no change. Errors: NotFound, NotValid, and those of CheckResources.
func (m *Model) SetResources(ctx context.Context, application string, given map[string]Content) error {
	return m.changeApplication(ctx, application, func(tx *txn, app *ApplicationDoc) error {
		charm, err := tx.charm(app.Charm)
		if err != nil {
			return errors.Trace(err)
		}
		was := app.made()
		if err := tx.give(app, charm.Charm, given); err != nil {
			return err
		}
		app.remember(was)
		return nil
	})
}

// give gives an application content for resources of its charm, and leaves the
// files that it had to the cleanup queue.
func (t *txn) give(app *ApplicationDoc, charm model.Charm, given map[string]Content) error {
	if err := CheckResources(charm, given); err != nil {
		return err
	}
	had, all := false, maps.Clone(app.Resources)
	if all == nil {
		all = map[string]Resource{}
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(given)) {
		old, there := all[name]
		same, err := t.sameContent(old, given[name])
		if err != nil {
			return errors.Trace(err)
		}
		if there && same {
			old.Hub = given[name].Hub
			all[name] = old
			continue
		}
		if all[name], err = t.newContent(given[name], old.Revision+1); err != nil {
			return errors.Annotatef(err, "cannot store resource %q", name)
		}
		had, changed = had || old.SHA256 != "", true
	}
	if app.Resources = all; !changed {
		return nil
	}
	app.Given++
	if !had {
		return nil
	}
	return t.queue(cleanupDoc{Blobs: true})
}

// newContent is what is kept of content: what a file is made of is referred to, and
// an image's password is sealed.
func (t *txn) newContent(c Content, revision int) (Resource, error) {
	r := Resource{File: c.File, Revision: revision, Hub: c.Hub, Given: t.now()}
	if c.Image == nil {
		return r, errors.Trace(t.refer(c.File))
	}
	hidden := c.Image.Hidden()
	r.File, r.Image = File{}, &hidden
	var err error
	r.Password, err = t.seal([]byte(c.Image.Password))
	return r, errors.Trace(err)
}

// sameContent says whether what an application has is what it is given. What can't
// be opened any more is another one.
func (d docs) sameContent(had Resource, given Content) (bool, error) {
	if given.Image == nil {
		return had.Image == nil && had.File == given.File, nil
	}
	if had.Image == nil {
		return false, nil
	}
	image, err := d.image(had)
	if errors.Is(err, ErrSealed) {
		return false, nil
	}
	return image == *given.Image, errors.Trace(err)
}

// image is a resource's image with its password.
func (d docs) image(r Resource) (model.Image, error) {
	image := *r.Image
	password, err := d.unseal(r.Password)
	image.Password = string(password)
	return image, errors.Annotate(err, "cannot open the password of an image")
}

// Image is what an application has for a resource that is an image, with its
// password. The error is NotFound where nothing was given for it, or no image, and
// ErrSealed where the password can't be opened.
func (m *Model) Image(ctx context.Context, application, resource string) (model.Image, error) {
	var image model.Image
	_, err := m.view(ctx, func(r docs) error {
		app, err := r.application(application)
		if err != nil {
			return errors.Trace(err)
		}
		given, ok := app.Resources[resource]
		if !ok || given.Image == nil {
			return errors.NewNotFound(nil, fmt.Sprintf("application %q has no image for resource %q", application, resource))
		}
		image, err = r.image(given)
		return errors.Trace(err)
	})
	return image, errors.Trace(err)
}

// sealImages seals the passwords of an application's images, and of those that it
// had, with the newest key, and counts them.
func (t *txn) sealImages(name string) (n int, err error) {
	app, err := t.application(name)
	if errors.Is(err, errors.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, errors.Trace(err)
	}
	all := []map[string]Resource{app.Resources}
	for _, f := range app.Former {
		all = append(all, f.Images)
	}
	for _, resources := range all {
		sealed, err := t.sealPasswords(resources)
		if err != nil {
			return n, errors.Annotatef(err, "application %s", name)
		}
		n += sealed
	}
	if n == 0 {
		return 0, nil
	}
	return n, t.put(applicationKey(name), app)
}

func (t *txn) sealPasswords(resources map[string]Resource) (n int, err error) {
	for _, resource := range slices.Sorted(maps.Keys(resources)) {
		r := resources[resource]
		if len(r.Password) == 0 {
			continue
		}
		password, err := t.unseal(r.Password)
		if err != nil {
			return n, errors.Annotatef(err, "cannot open the password of resource %q", resource)
		}
		if r.Password, err = t.seal(password); err != nil {
			return n, errors.Trace(err)
		}
		resources[resource] = r
		n++
	}
	return n, nil
}

// FileContent writes a stored file to w. The error is NotValid if its hash
// isn't the one it was stored with.
func (m *Model) FileContent(ctx context.Context, f File, w io.Writer) error {
	sum := sha256.New()
	if err := m.readBlob(ctx, f.SHA256, io.MultiWriter(w, sum)); err != nil {
		return errors.Trace(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return errors.NewNotValid(nil, fmt.Sprintf("the stored file's hash is %s, not %s", got, f.SHA256))
	}
	return nil
}
