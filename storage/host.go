package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/mounts"
)

// record says what is, or is about to be, done to the host for a volume.
type record struct {
	Wanted string `json:"wanted,omitempty"` // Volume.Wanted
	Target string `json:"target,omitempty"` // where it is mounted
	Made   bool   `json:"made,omitempty"`   // the target wasn't there
	Device bool   `json:"device,omitempty"` // its image is attached to a loop device
}

func (k *Keeper) recordPath(id model.StorageID) string {
	return filepath.Join(k.dir(id), "record.json")
}

// read is the record of a volume; zero where there is none. One without its content,
// which former versions could lose with the host's power, is as good as none: nothing
// is mounted since.
func (k *Keeper) read(id model.StorageID) (r record, err error) {
	b, err := os.ReadFile(k.recordPath(id))
	if os.IsNotExist(err) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	var lost *json.SyntaxError
	if errors.As(err, &lost) {
		return record{}, nil
	}
	return r, errors.Annotatef(err, "cannot read %s", k.recordPath(id))
}

// write replaces the record; an old or the new one is there at any time.
func (k *Keeper) write(id model.StorageID, r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return errors.Trace(err)
	}
	path := k.recordPath(id)
	if was, err := os.ReadFile(path); err == nil && string(was) == string(b) {
		return nil
	}
	return errors.Annotate(k.Disk.ReplaceFile(path, b, 0o600), "cannot note what is done for the storage")
}

// mounted says whether something is mounted at the path.
func mounted(path string) bool {
	all, err := mounts.Own()
	if err != nil {
		return false // not on Linux: nothing was mounted by us
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return slices.ContainsFunc(all, func(m mounts.Mount) bool { return m.At == path })
}

// devicesOf are the loop devices that an image is attached to.
func devicesOf(ctx context.Context, image string) ([]string, error) {
	out, err := output(ctx, "losetup", "--noheadings", "--output", "NAME", "--associated", image)
	return strings.Fields(out), errors.Trace(err)
}

// holders says which processes use what is below the path, or the device:
// ", by process 12 (postgres)".
func holders(path string) string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		links, _ := filepath.Glob(filepath.Join(dir, "fd", "*"))
		for _, link := range append(links, filepath.Join(dir, "cwd"), filepath.Join(dir, "root")) {
			to, err := os.Readlink(link)
			if err == nil && (to == path || strings.HasPrefix(to, path+"/")) {
				name, _ := os.ReadFile(filepath.Join(dir, "comm"))
				found = append(found, fmt.Sprintf("process %s (%s)", filepath.Base(dir), strings.TrimSpace(string(name))))
				break
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return ", by " + strings.Join(found, ", ")
}

func run(ctx context.Context, name string, args ...string) error {
	_, err := output(ctx, name, args...)
	return err
}

// output is what a program prints; the error has its complaint in one line.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var out, complaint strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if said := strings.Join(strings.Fields(complaint.String()), " "); said != "" {
		return "", errors.New(said)
	}
	return "", errors.Annotatef(err, "cannot run %s", name)
}
