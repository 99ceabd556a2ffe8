package charmdir

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files is a tree as "ls -F" shows it: "name" is a file, "name*" one that can
// be run, "name@" a link (its text is the target), "name/" a directory.
type files map[string]string

func (f files) with(name, text string) files {
	out := files{name: text}
	for k, v := range f {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// write makes the tree in dir.
func (f files) write(t testing.TB, dir string) {
	t.Helper()
	for name, text := range f {
		path := filepath.Join(dir, strings.TrimRight(name, "*@/"))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch name[len(name)-1] {
		case '/':
			must(t, os.MkdirAll(path, 0o755))
		case '@':
			must(t, os.Symlink(text, path))
		case '*':
			must(t, os.WriteFile(path, []byte(text), 0o755))
		default:
			must(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
}

func (f files) dir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	f.write(t, dir)
	return dir
}

// archive packs the tree as a charm.
func (f files) archive(t testing.TB) string {
	t.Helper()
	c, err := ReadDir(f.dir(t))
	must(t, err)
	path := filepath.Join(t.TempDir(), "a.charm")
	out, err := os.Create(path)
	must(t, err)
	defer out.Close()
	_, err = c.Archive(out)
	must(t, err)
	return path
}

// look is the tree in dir, as files.
func look(t testing.TB, dir string) files {
	t.Helper()
	out := files{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		must(t, err)
		info, err := d.Info()
		must(t, err)
		switch mode := info.Mode(); {
		case mode.IsDir():
			out[name+"/"] = ""
			return nil
		case mode.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			must(t, err)
			out[name+"@"] = target
			return nil
		case mode&0o111 != 0:
			name += "*"
		}
		b, err := os.ReadFile(path)
		must(t, err)
		out[name] = string(b)
		return nil
	}))
	return out
}

// raw is an entry of an archive that Archive would not make.
type raw struct {
	name, text string
	mode       fs.FileMode
	// said is the size in the header, if not the text's.
	said uint64
}

func zipOf(t testing.TB, entries ...raw) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.charm")
	out, err := os.Create(path)
	must(t, err)
	defer out.Close()
	z := zip.NewWriter(out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Store}
		h.SetMode(e.mode)
		if e.mode == 0 {
			h.SetMode(0o644)
		}
		if e.said > 0 {
			h.UncompressedSize64, h.CompressedSize64 = e.said, uint64(len(e.text))
			w, err := z.CreateRaw(h)
			must(t, err)
			_, err = w.Write([]byte(e.text))
			must(t, err)
			continue
		}
		w, err := z.CreateHeader(h)
		must(t, err)
		_, err = w.Write([]byte(e.text))
		must(t, err)
	}
	must(t, z.Close())
	return path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// modesIn are those of the entries of an archive.
func modesIn(t testing.TB, archive string) map[string]fs.FileMode {
	t.Helper()
	z, err := zip.OpenReader(archive)
	must(t, err)
	defer z.Close()
	modes := map[string]fs.FileMode{}
	for _, f := range z.File {
		modes[f.Name] = f.Mode()
	}
	return modes
}
