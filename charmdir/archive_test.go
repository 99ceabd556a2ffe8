package charmdir

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

const leastMetadata = "name: a\n"

func TestBadArchivesAreNeitherReadNorDeployed(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", 500)
	var bushy []raw
	for i := range 250 {
		bushy = append(bushy, raw{name: string(rune('a'+i%26)) + string(rune('a'+i/26)) + "/" + deep + "f"})
	}
	for _, row := range []struct {
		name    string
		entries []raw
		want    string
	}{
		{"a path that goes up", []raw{{name: "../x"}}, `entry "../x": not a path inside the charm`},
		{"a path that goes down and up", []raw{{name: "a/../../x"}}, `entry "a/../../x": not a path inside the charm`},
		{"an absolute path", []raw{{name: "/etc/x"}}, `entry "/etc/x": not a path inside the charm`},
		{"a path with backslashes", []raw{{name: `..\x`}}, `entry "..\\x": not a path inside the charm`},
		{"a path that isn't clean", []raw{{name: "a//x"}}, `entry "a//x": not a path inside the charm`},
		{"a path with a NUL", []raw{{name: "a\x00b"}}, `entry "a\x00b": not a path inside the charm`},
		{"the charm's directory itself", []raw{{name: "./", mode: fs.ModeDir | 0o755}}, `entry "./": not a path inside the charm`},
		{"an empty path", []raw{{name: ""}}, `entry "": not a path inside the charm`},
		{"a path that is too long", []raw{{name: strings.Repeat("a", maxPath+1)}},
			`entry "` + strings.Repeat("a", 200) + `…": path longer than 1024 bytes`},
		{"an absolute link", []raw{{name: "l", text: "/etc/passwd", mode: fs.ModeSymlink}},
			`entry "l": link to "/etc/passwd" leads out of the charm: it is absolute`},
		{"a link that escapes", []raw{{name: "a/l", text: "../../x", mode: fs.ModeSymlink}},
			`entry "a/l": link to "../../x" leads out of the charm`},
		{"links that escape together", []raw{
			{name: "a/b/top", text: "../..", mode: fs.ModeSymlink},
			{name: "a/b/out", text: "top/../x", mode: fs.ModeSymlink},
		}, `entry "a/b/out": link to "top/../x" may lead out of the charm: it has a ".." after a name`},
		{"a link to nothing", []raw{{name: "l", mode: fs.ModeSymlink}}, `entry "l": link to "" leads nowhere`},
		{"a link that is too long", []raw{{name: "l", text: strings.Repeat("a", maxPath+1), mode: fs.ModeSymlink}},
			`entry "l": link to "` + strings.Repeat("a", 200) + `…" is longer than 1024 bytes`},
		{"a pipe", []raw{{name: "p", mode: fs.ModeNamedPipe}}, `entry "p": neither file, directory nor link`},
		{"a device", []raw{{name: "d", mode: fs.ModeDevice}}, `entry "d": neither file, directory nor link`},
		{"a socket", []raw{{name: "s", mode: fs.ModeSocket}}, `entry "s": neither file, directory nor link`},
		{"a file twice", []raw{{name: "x"}, {name: "x"}}, `entry "x": given twice`},
		{"a file that is a directory too", []raw{{name: "x"}, {name: "x/", mode: fs.ModeDir | 0o755}}, `entry "x": given twice`},
		{"a file below a link", []raw{{name: "l/x"}, {name: "l", text: "a", mode: fs.ModeSymlink}},
			`entry "l/x": below "l", which isn't a directory`},
		{"a file below a file, others of like names between", []raw{{name: "l/x/y"}, {name: "l-"}, {name: "l"}, {name: "l."}},
			`entry "l/x/y": below "l", which isn't a directory`},
		{"a file of a size above the limit", []raw{{name: "x", text: "x", said: maxFile + 1}},
			`entry "x": the charm is too large (at most 1024 MiB a file, 2048 MiB in all, 100000 files and directories)`},
		{"files that are too large together", []raw{{name: "x", said: maxFile}, {name: "y", said: maxFile}, {name: "z", said: 1}},
			`entry "z": the charm is too large (at most 1024 MiB a file, 2048 MiB in all, 100000 files and directories)`},
		{"too many directories that aren't entries", bushy,
			`entry ` + quote("ud/"+deep+"f") + `: the charm is too large (at most 1024 MiB a file, 2048 MiB in all, 100000 files and directories)`},
		{"the marker of a deployment", []raw{{name: markerName}}, `entry ".unitd-charm": unitd's own file, not a charm's`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			path := zipOf(t, append(row.entries, raw{name: "metadata.yaml", text: leastMetadata})...)
			_, err := Read(path)
			checkRefused(t, err, "cannot read charm "+path+": "+row.want)
			unit := t.TempDir()
			checkRefused(t, NewDeployer(durable.Disk{}, unit).Deploy(t.Context(), path, "local:a-0"), "cannot unpack charm local:a-0: "+row.want)
			if got := look(t, unit); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}

func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want || !errors.Is(err, errors.NotValid) {
		t.Errorf("\n got %v\nwant %s\nnot valid: %v", err, want, errors.Is(err, errors.NotValid))
	}
}

func TestTooManyEntries(t *testing.T) {
	t.Parallel()
	entries := make([]*zip.File, maxEntries+1)
	for i := range entries {
		entries[i] = &zip.File{FileHeader: zip.FileHeader{Name: "x"}}
	}
	if _, err := checkEntries(entries); !errors.Is(err, errors.NotValid) {
		t.Errorf("got %v", err)
	}
}

// TestSizesInTheArchiveAreNotBelieved: what is unpacked is counted.
func TestSizesInTheArchiveAreNotBelieved(t *testing.T) {
	t.Parallel()
	z, err := zip.OpenReader(zipOf(t, raw{name: "x", text: "12345"}, raw{name: "y", text: "12345"}, raw{name: "z", text: "123456789", said: 3}))
	must(t, err)
	defer z.Close()
	dir := t.TempDir()
	x := &extractor{step: NewDeployer(durable.Disk{}, dir).step, left: 7, made: map[string]bool{dir: true}}
	must(t, x.extract(z.File[0], dir))
	if err := x.extract(z.File[1], dir); !errors.Is(err, errors.NotValid) {
		t.Errorf("ten bytes of at most seven: got %v", err)
	}
	x.left = maxTotal
	if err := x.extract(z.File[2], dir); err == nil {
		t.Error("no error for a file with more bytes than it says")
	}
}

func TestBadTrees(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		in   files
		do   func(dir string) error
		want string
	}{
		{"an absolute link", files{"venv/python@": "/usr/bin/python3"}, nil,
			`entry "venv/python": link to "/usr/bin/python3" leads out of the charm: it is absolute`},
		{"a link that escapes", files{"lib/x@": "../../x"}, nil, `entry "lib/x": link to "../../x" leads out of the charm`},
		{"a metadata file that is a link out of the charm", files{"config.yaml@": "../secret"}, nil,
			`entry "config.yaml": link to "../secret" leads out of the charm`},
		{"a pipe", files{}, func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "p"), 0o644) },
			`entry "p": neither file, directory nor link`},
		{"a metadata file that is a pipe", files{}, func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "version"), 0o644) },
			`entry "version": neither file, directory nor link`},
		{"a file that is too large", files{}, func(dir string) error {
			path := filepath.Join(dir, "x")
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(path, maxFile+1) // a hole: it takes no room
		}, `entry "x": the charm is too large (at most 1024 MiB a file, 2048 MiB in all, 100000 files and directories)`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := row.in.with("metadata.yaml", leastMetadata).dir(t)
			if row.do != nil {
				must(t, row.do(dir))
			}
			_, err := Read(dir)
			checkRefused(t, err, "cannot read charm "+dir+": "+row.want)
			// A tree may change after it was read.
			_, err = (&Charm{Path: dir, Dir: true}).Archive(&bytes.Buffer{})
			checkRefused(t, err, "cannot pack charm "+dir+": "+row.want)
		})
	}
}

// TestArchiveKeepsTheTree: packed and deployed, a tree is what it was, without
// what isn't the charm's.
func TestArchiveKeepsTheTree(t *testing.T) {
	t.Parallel()
	want := files{
		"metadata.yaml": leastMetadata, "dispatch*": "#!/bin/sh\n", "hooks/": "", "hooks/install@": "../dispatch",
		"empty/": "", "lib/": "", "lib/up@": "..", "lib/deep/": "", "lib/deep/é": "x", "lib/x.charm": "kept: not at the top",
		"self@": ".", "to-none@": "none", "src/": "", "src/.git-keep": "",
	}
	in := maps.Clone(want)
	maps.Copy(in, files{".git/config": "x", "lib/.git": "gitdir: x", "other.charm": "x", markerName: "x"})
	unit := t.TempDir()
	must(t, NewDeployer(durable.Disk{}, unit).Deploy(t.Context(), in.archive(t), "local:a-0"))
	got := look(t, filepath.Join(unit, "charm"))
	delete(got, markerName)
	if !maps.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestSameTreeSameArchive(t *testing.T) {
	t.Parallel()
	in := files{"charmcraft.yaml": unified(), "dispatch*": "#!/bin/sh\n", "lib/x@": "../dispatch", "version": "1"}
	first, second := in.dir(t), in.dir(t)
	old := time.Unix(1_000_000_000, 0)
	must(t, os.Chtimes(filepath.Join(second, "version"), old, old))
	must(t, os.Chmod(filepath.Join(second, "version"), 0o600))
	// A tree may be named by a link to it.
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(second, link))
	var want []byte
	for _, dir := range []string{first, second, link} {
		c, err := Read(dir)
		must(t, err)
		var b bytes.Buffer
		hash, err := c.Archive(&b)
		must(t, err)
		if sum := sha256.Sum256(b.Bytes()); hash != hex.EncodeToString(sum[:]) {
			t.Errorf("hash %s", hash)
		}
		if want == nil {
			want = b.Bytes()
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s: another archive of %d bytes, not %d", dir, b.Len(), len(want))
		}
	}
}

// TestArchiveOfAnArchive: it is stored as it is.
func TestArchiveOfAnArchive(t *testing.T) {
	t.Parallel()
	path := files{"metadata.yaml": leastMetadata}.archive(t)
	c, err := Read(path)
	must(t, err)
	var b bytes.Buffer
	_, err = c.Archive(&b)
	must(t, err)
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("not the same bytes (%v)", err)
	}
}

func TestReadWhatIsNoArchive(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"metadata.yaml", "", "PK\x05\x06"} {
		path := filepath.Join(files{"x": text}.dir(t), "x")
		_, err := Read(path)
		checkRefused(t, err, "cannot read charm "+path+": zip: not a valid zip file")
	}
	path := zipOf(t, raw{name: "metadata.yaml", text: leastMetadata}, raw{name: "version", text: "version", mode: fs.ModeSymlink})
	_, err := Read(path)
	checkRefused(t, err, "cannot read charm "+path+": version: not a file")
}
