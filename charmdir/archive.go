package charmdir

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
)

// archiveTime is the time of every entry, so that the same tree makes the same
// archive.
func archiveTime() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// Archive writes the charm as an archive to w and returns its hash (SHA-256,
// hex). The archive of a tree is made so that the same tree always gives the
// same bytes; git's directory and other charms' archives are left out. Errors
// are NotValid, naming the entry, for what may not be in a charm.
func (c *Charm) Archive(w io.Writer) (string, error) {
	sum := sha256.New()
	out := io.MultiWriter(w, sum)
	var err error
	if c.Dir {
		err = c.pack(out)
	} else {
		err = copyFile(out, c.Path)
	}
	if err != nil {
		return "", errors.Annotatef(err, "cannot pack charm %s", c.Path)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return errors.Trace(err)
}

func (c *Charm) pack(w io.Writer) error {
	z := zip.NewWriter(w)
	p := &packer{root: c.Path, zip: z}
	err := filepath.WalkDir(c.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == c.Path {
			return errors.Trace(err)
		}
		name, err := filepath.Rel(c.Path, path)
		if err != nil {
			return errors.Trace(err)
		}
		return p.add(filepath.ToSlash(name), d)
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.generated)) {
		e, err := z.CreateHeader(header(name, 0o644))
		if err != nil {
			return errors.Trace(err)
		}
		if _, err := e.Write(c.generated[name]); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(z.Close())
}

// packer adds the entries of a tree.
type packer struct {
	root    string
	zip     *zip.Writer
	entries int
	total   int64
}

func header(name string, mode fs.FileMode) *zip.FileHeader {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: archiveTime()}
	h.SetMode(mode)
	return h
}

func (p *packer) add(name string, d fs.DirEntry) error {
	if left := d.Name(); left == ".git" || !strings.Contains(name, "/") && strings.HasSuffix(left, ".charm") {
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if err := checkName(name); err != nil {
		return err
	}
	if p.entries++; p.entries > maxEntries {
		return errSize(name)
	}
	info, err := d.Info()
	if err != nil {
		return errors.Trace(err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		_, err := p.zip.CreateHeader(header(name+"/", fs.ModeDir|0o755))
		return errors.Trace(err)
	case mode.Type() == fs.ModeSymlink:
		return p.addLink(name)
	case mode.IsRegular():
		if p.total += info.Size(); info.Size() > maxFile || p.total > maxTotal {
			return errSize(name)
		}
		return p.addFile(name, mode)
	}
	return errors.NewNotValid(nil, fmt.Sprintf("entry %q: neither file, directory nor link", name))
}

func (p *packer) addLink(name string) error {
	target, err := os.Readlink(filepath.Join(p.root, name))
	if err != nil {
		return errors.Trace(err)
	}
	if err := checkLink(name, target); err != nil {
		return err
	}
	e, err := p.zip.CreateHeader(header(name, fs.ModeSymlink|0o777))
	if err != nil {
		return errors.Trace(err)
	}
	_, err = io.WriteString(e, target)
	return errors.Trace(err)
}

func (p *packer) addFile(name string, mode fs.FileMode) error {
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	e, err := p.zip.CreateHeader(header(name, perm))
	if err != nil {
		return errors.Trace(err)
	}
	return copyFile(e, filepath.Join(p.root, name))
}

// checkEntries refuses an archive with an entry that may not be in a charm,
// and returns the names of all files and links.
func checkEntries(files []*zip.File) ([]string, error) {
	if len(files) > maxEntries {
		return nil, errSize(files[maxEntries].Name)
	}
	kinds := map[string]fs.FileMode{}
	var names []string
	var total uint64
	for _, f := range files {
		if err := checkName(f.Name); err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(f.Name, "/")
		mode := f.Mode()
		if _, twice := kinds[name]; twice {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("entry %q: given twice", name))
		}
		kinds[name] = mode.Type()
		if total += f.UncompressedSize64; f.UncompressedSize64 > maxFile || total > maxTotal {
			return nil, errSize(name)
		}
		switch mode.Type() {
		case fs.ModeDir:
			continue
		case 0:
		case fs.ModeSymlink:
			target, err := linkTarget(f)
			if err != nil {
				return nil, err
			}
			if err := checkLink(name, target); err != nil {
				return nil, err
			}
		default:
			return nil, errors.NewNotValid(nil, fmt.Sprintf("entry %q: neither file, directory nor link", name))
		}
		names = append(names, name)
	}
	for name := range kinds {
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			if kind, there := kinds[dir]; there && kind != fs.ModeDir {
				return nil, errors.NewNotValid(nil, fmt.Sprintf("entry %q: below %q, which isn't a directory", name, dir))
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

func linkTarget(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", errors.Annotatef(err, "entry %q", f.Name)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 4096))
	return string(b), errors.Annotatef(err, "entry %q", f.Name)
}
