package bases

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/oci"
)

// flatten copies an image, with its layers one over the other, into a directory. The kernel
// puts them so: in a mount that only this goroutine's thread, and cp, ever see. work is a
// directory for what that needs.
func flatten(ctx context.Context, i *oci.Image, work, to string) error {
	at, empty := filepath.Join(work, "image"), filepath.Join(work, "empty")
	for _, dir := range []string{at, empty} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	dir, lower := i.Lower()
	options := "lowerdir=" + lower + ":" + strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(empty) // an overlay has two at least
	if i.Form.UserXattr() {
		options += ",userxattr"
	}
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine
		err := mountHere(dir, at, options)
		if err == nil {
			err = ran(exec.CommandContext(ctx, "cp", "-a", at+"/.", to), nil)
		}
		ended <- err
	}()
	return errors.Trace(<-ended)
}

// mountHere mounts an image for this thread, and for what it starts.
func mountHere(dir, at, options string) error {
	for _, step := range []func() error{
		func() error { return unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS) },
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Chdir(dir) },
		func() error { return unix.Mount("image", at, "overlay", unix.MS_RDONLY, options) },
	} {
		if err := step(); err != nil {
			return errors.Annotate(err, "cannot mount the image")
		}
	}
	return nil
}

// unpack fills the root from an image, and is its digest.
func (w *work) unpack(ctx context.Context) (digest string, err error) {
	if w.Images == nil {
		return "", errors.WithType(errors.New("images aren't available here"), errNoImage)
	}
	ref, err := oci.Parse(w.recipe.From)
	if err != nil {
		return "", errors.Trace(err)
	}
	images := *w.Images
	if images.Transport, err = w.settings.transport(); err != nil {
		return "", errors.Trace(err)
	}
	source := oci.Source{Reference: ref}
	resolved, err := images.Resolve(ctx, source)
	if err != nil {
		return "", noImage(ctx, err)
	}
	defer resolved.Release()
	image, err := images.Fetch(ctx, source, resolved.Digest)
	if err != nil {
		return "", noImage(ctx, err)
	}
	defer image.Release()
	if err := flatten(ctx, image, w.dir, w.root()); err != nil {
		return "", errors.Annotatef(err, "image %s", w.recipe.From)
	}
	return resolved.Digest, nil
}

// noImage is that an image can't be had, unless it was nobody's fault but whoever's has
// stopped it.
func noImage(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Trace(ctx.Err())
	}
	return errors.WithType(fmt.Errorf("cannot get its image: %w", err), errNoImage)
}

// written waits until all that was written to the file system of a directory is on the disk.
func written(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	return errors.Trace(unix.Syncfs(int(f.Fd())))
}
