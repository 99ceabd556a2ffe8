package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
)

// Volume is storage as a unit is to have it.
type Volume struct {
	ID model.StorageID
	// Provider is one of model.StorageProviders.
	Provider string
	// Kind is model.Filesystem or model.Block.
	Kind string
	// Size is in MiB. A directory is as large as the disk that it is on.
	Size     uint64
	ReadOnly bool
	// Wanted is where the charm wants a file system; empty: anywhere.
	Wanted string
}

// Keeper has the storage of one model. It is for one goroutine.
type Keeper struct {
	// Disk is what is written to; the zero value is the disk.
	Disk durable.Disk
	// Dir has a directory for each volume.
	Dir string
	// Released is where volumes are put that their model lets go.
	Released string
	// Mounts says whether file systems may be mounted. Without it a volume is
	// never where its charm wants it, but below Dir.
	Mounts bool
}

// MayMount says whether this process has leave to mount.
func MayMount() bool { return runtime.GOOS == "linux" && os.Geteuid() == 0 }

func (k *Keeper) dir(id model.StorageID) string { return volumeDir(k.Dir, id) }

func volumeDir(dir string, id model.StorageID) string {
	return filepath.Join(dir, id.Name()+"-"+strconv.Itoa(id.Number()))
}

// FileSystem is where the file system of a volume is that nobody wants anywhere
// else. dir is Keeper.Dir.
func FileSystem(dir string, id model.StorageID) string {
	return filepath.Join(volumeDir(dir, id), "fs")
}

// Volumes are those that there is something of here.
func (k *Keeper) Volumes() ([]model.StorageID, error) {
	entries, err := os.ReadDir(k.Dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Annotate(err, "cannot look for storage")
	}
	var ids []model.StorageID
	for _, e := range entries {
		i := strings.LastIndexByte(e.Name(), '-')
		if i < 0 {
			continue
		}
		if id, err := model.ParseStorageID(e.Name()[:i] + "/" + e.Name()[i+1:]); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Provide makes the volume, if it isn't there, and returns where it is: a
// directory, or a device. It may be called again at any time, and must be after
// the host has rebooted. The error is errors.NotSupported where the agent lacks
// leave to have such a volume.
func (k *Keeper) Provide(ctx context.Context, v Volume) (location string, err error) {
	if !k.Mounts && v.Provider != model.RootFS {
		return "", noLeave(v)
	}
	r, err := k.read(v.ID)
	if err != nil {
		return "", errors.Trace(err)
	}
	if r.Wanted != v.Wanted {
		if err := k.Release(ctx, v.ID); err != nil {
			return "", errors.Trace(err)
		}
		r = record{}
	}
	r.Wanted = v.Wanted
	fs := FileSystem(k.Dir, v.ID)
	if err := k.Disk.MkdirAll(fs, 0o755); err != nil {
		return "", errors.Annotate(err, "cannot make the storage's directory")
	}
	switch {
	case v.Kind == model.Block:
		return k.device(ctx, v, r)
	case v.Provider == model.RootFS && k.place(v, r, fs) == fs:
		return fs, k.write(v.ID, record{Wanted: v.Wanted})
	}
	return k.mount(ctx, v, r, fs)
}

// noLeave says what is missing, and what can be done: in few words, as it is to
// be read in a table.
func noLeave(v Volume) error {
	text := v.Provider + " needs an agent that runs as root on Linux"
	if v.Kind == model.Filesystem {
		text += fmt.Sprintf("; or use --storage %s=rootfs", v.ID.Name())
	}
	return errors.NewNotSupported(nil, text)
}

// place is where a file system is to be mounted: where the charm wants it, if
// nothing is there. Units share this host, so another one may have the place.
func (k *Keeper) place(v Volume, r record, fs string) string {
	switch {
	case !k.Mounts || !filepath.IsAbs(v.Wanted):
		return fs
	case r.Target != "" && mounted(r.Target):
		return r.Target
	case mounted(v.Wanted):
		return fs
	}
	entries, err := os.ReadDir(v.Wanted)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return filepath.Clean(v.Wanted)
	}
	return fs
}

// mount has the volume's file system mounted.
func (k *Keeper) mount(ctx context.Context, v Volume, r record, fs string) (string, error) {
	target := k.place(v, r, fs)
	if r.Target == target && mounted(target) {
		return target, nil
	}
	r.Target = target
	if _, err := os.Stat(target); os.IsNotExist(err) {
		r.Made = true
	}
	if err := k.write(v.ID, r); err != nil {
		return "", errors.Trace(err)
	}
	if err := k.Disk.MkdirAll(target, 0o755); err != nil {
		return "", errors.Annotate(err, "cannot make the place where the charm wants its storage")
	}
	mode := "rw"
	if v.ReadOnly {
		mode = "ro"
	}
	var args []string
	switch v.Provider {
	case model.RootFS:
		args = []string{"--bind", "-o", mode, fs, target}
	case model.TmpFS:
		args = []string{"-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=755", v.Size), "tmpfs", target}
	case model.Loop:
		image, err := k.image(ctx, v)
		if err != nil {
			return "", errors.Trace(err)
		}
		args = []string{"-o", "loop," + mode, image, target}
	default:
		return "", errors.NewNotSupported(nil, fmt.Sprintf("storage provider %q is not known here", v.Provider))
	}
	return target, run(ctx, "mount", args...)
}

// image is the file of a loop device, made with a file system in it if that is
// what it is for. It gets its name once it is whole.
func (k *Keeper) image(ctx context.Context, v Volume) (string, error) {
	path := filepath.Join(k.dir(v.ID), "image")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		return path, errors.Trace(err)
	}
	half := path + ".new"
	f, err := k.Disk.OpenFile(half, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", errors.Annotate(err, "cannot make the storage's image")
	}
	err = f.Truncate(int64(v.Size) << 20)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", errors.Annotate(err, "cannot make the storage's image")
	}
	if v.Kind == model.Filesystem {
		if err := run(ctx, "mkfs.ext4", "-q", "-F", half); err != nil {
			return "", errors.Trace(err)
		}
	}
	return path, errors.Trace(k.Disk.Rename(half, path))
}

// device has the volume's image attached to a loop device.
func (k *Keeper) device(ctx context.Context, v Volume, r record) (string, error) {
	image, err := k.image(ctx, v)
	if err != nil {
		return "", errors.Trace(err)
	}
	r.Device = true
	if err := k.write(v.ID, r); err != nil {
		return "", errors.Trace(err)
	}
	if devices, err := devicesOf(ctx, image); err != nil || len(devices) > 0 {
		return strings.Join(devices, ""), errors.Trace(err)
	}
	args := []string{"--find", "--show", image}
	if v.ReadOnly {
		args = append([]string{"--read-only"}, args...)
	}
	out, err := output(ctx, "losetup", args...)
	return strings.TrimSpace(out), errors.Trace(err)
}

// Release takes the volume away from where it is mounted; what is in it stays.
// It is no error if it isn't mounted, or isn't there.
func (k *Keeper) Release(ctx context.Context, id model.StorageID) error {
	r, err := k.read(id)
	if err != nil {
		return errors.Trace(err)
	}
	if r.Target != "" && mounted(r.Target) {
		if err := run(ctx, "umount", r.Target); err != nil {
			return errors.Annotatef(err, "storage is in use%s", holders(r.Target))
		}
	}
	if r.Made {
		_ = k.Disk.Remove(r.Target) // somebody may have put something there
	}
	if r.Device {
		devices, err := devicesOf(ctx, filepath.Join(k.dir(id), "image"))
		if err != nil {
			return errors.Trace(err)
		}
		for _, d := range devices {
			if err := run(ctx, "losetup", "--detach", d); err != nil {
				return errors.Annotatef(err, "storage is in use%s", holders(d))
			}
		}
	}
	if r == (record{}) {
		return nil
	}
	return k.write(id, record{})
}

// Remove takes the volume off the host, with all that is in it. It is no error
// if it isn't there.
func (k *Keeper) Remove(ctx context.Context, id model.StorageID) error {
	if err := k.Release(ctx, id); err != nil {
		return errors.Trace(err)
	}
	return errors.Annotate(charmdir.RemoveTree(k.Disk, k.dir(id)), "cannot remove what is in the storage")
}

// Hand puts the volume where its model has nothing to do with it any more, and
// returns that place; empty if it isn't there.
func (k *Keeper) Hand(ctx context.Context, id model.StorageID) (string, error) {
	if err := k.Release(ctx, id); err != nil {
		return "", errors.Trace(err)
	}
	dir := k.dir(id)
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return "", nil
	}
	if err := k.Disk.MkdirAll(k.Released, 0o700); err != nil {
		return "", errors.Trace(err)
	}
	to := filepath.Join(k.Released, filepath.Base(dir))
	return to, errors.Annotate(k.Disk.Rename(dir, to), "cannot put the released storage aside")
}
