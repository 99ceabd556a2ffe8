package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// unpackHere unpacks entries into a new directory.
func unpackHere(t testing.TB, form Form, entries ...tar.Header) (string, contents, error) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o700))
	got, err := unpack(t.Context(), root, bytes.NewReader(tarOf(t, entries...)), form, limits{bytes: 1 << 20, entries: 200, names: 1 << 20})
	return root, got, err
}

func TestWhatALayerBecomes(t *testing.T) {
	t.Parallel()
	const whited = " Dc---------" // a character device
	for name, row := range map[string]struct {
		in   []tar.Header
		want string
	}{
		"files, directories and links": {
			[]tar.Header{dir("./", 0o755), dir("a/", 0o750), file("a/f", "x"), link(tar.TypeSymlink, "a/l", "../../../etc"), link(tar.TypeLink, "h", "a/f"), link(tar.TypeLink, "hl", "a/l")},
			"a drwxr-x---\na/f -rw-r--r-- x\na/l -> ../../../etc\nh -rw-r--r-- x\nhl -> ../../../etc",
		},
		"special bits and modes": {
			[]tar.Header{with(file("s", ""), func(h *tar.Header) { h.Mode = 0o6755 }), dir("t", 0o1777), with(file("none", ""), func(h *tar.Header) { h.Mode = 0 })},
			"none ---------- \ns ugrwxr-xr-x \nt dtrwxrwxrwx",
		},
		"names with a slash before them are below the root": {[]tar.Header{dir("/a", 0o755), file("//a/./f", "x")}, "a drwxr-xr-x\na/f -rw-r--r-- x"},
		"a pipe": {[]tar.Header{with(link(tar.TypeFifo, "p", ""), func(h *tar.Header) { h.Mode = 0o620 })}, "p prw--w----"},
		"device nodes are left out, and their links": {[]tar.Header{link(tar.TypeChar, "null", ""), link(tar.TypeBlock, "sda", ""), link(tar.TypeLink, "zero", "null")}, ""},
		"directories that are implied":               {[]tar.Header{file("a/b/f", "x")}, "a drwxr-xr-x\na/b drwxr-xr-x\na/b/f -rw-r--r-- x"},
		"a directory may come after what is in it":   {[]tar.Header{file("a/f", "x"), dir("a", 0o711)}, "a drwx--x--x\na/f -rw-r--r-- x"},
		"what is removed":                            {[]tar.Header{file("a/.wh.f", ""), file(".wh.g", "")}, "a drwxr-xr-x\na/f" + whited + "\ng" + whited},
		"a directory that hides the one below":       {[]tar.Header{dir("a", 0o755), file("a/.wh..wh..opq", ""), file("a/f", "x")}, "a drwxr-xr-x opaque\na/f -rw-r--r-- x"},
		"a directory that hides, before it is there": {[]tar.Header{file("a/.wh..wh..opq", ""), dir("a", 0o755)}, "a drwxr-xr-x opaque"},
		"what is removed and there again stays":      {[]tar.Header{file(".wh.f", ""), file("f", "x"), file("g", "y"), file(".wh.g", "")}, "f -rw-r--r-- x\ng -rw-r--r-- y"},
		"a directory that is removed and there again hides the one below": {
			[]tar.Header{file(".wh.d", ""), dir("d", 0o755), file("d/f", "x"), dir("e", 0o755), file(".wh.e", ""), file(".wh.i", ""), file("i/f", "x")},
			"d drwxr-xr-x opaque\nd/f -rw-r--r-- x\ne drwxr-xr-x opaque\ni drwxr-xr-x opaque\ni/f -rw-r--r-- x",
		},
		"a later entry replaces a former one": {
			[]tar.Header{file("a", "1"), file("a", "2"), link(tar.TypeSymlink, "l", "a"), file("l", "3"), dir("d", 0o755), file("d", "4"), link(tar.TypeSymlink, "e", "/etc"), dir("e", 0o755), file("e/f", "5")},
			"a -rw-r--r-- 2\nd -rw-r--r-- 4\ne drwxr-xr-x\ne/f -rw-r--r-- 5\nl -rw-r--r-- 3",
		},
		"a directory twice has what the later says": {[]tar.Header{dir("a", 0o700), file("a/f", "x"), dir("a", 0o711)}, "a drwx--x--x\na/f -rw-r--r-- x"},
		"what aufs has for itself":                  {[]tar.Header{dir(".wh..wh.plnk", 0o700), file(".wh..wh.aufs", "")}, ""},
		"headers for all entries":                   {[]tar.Header{{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}, file("f", "x")}, "f -rw-r--r-- x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, _, err := unpackHere(t, Single, row.in...)
			want := row.want
			if os.Geteuid() != 0 && strings.Contains(want, "----------") {
				t.Skip("who isn't root can't read what the test has written")
			}
			if err != nil || shown(t, root) != want {
				t.Errorf("got %v\n%s\nwant\n%s", err, shown(t, root), want)
			}
		})
	}
}

func TestHostileLayers(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", maxDepth)
	for name, in := range map[string][]tar.Header{
		"a path that leads out":                         {file("../out", "x")},
		"a path that leads out, and back":               {file("a/../../root/f", "x")},
		"a path that leads up":                          {file("a/../f", "x")},
		"a directory that leads out":                    {dir("..", 0o777)},
		"a file through a link that leads out":          {link(tar.TypeSymlink, "l", "../.."), file("l/out", "x")},
		"a file through a link to the root":             {link(tar.TypeSymlink, "l", "/"), file("l/out", "x")},
		"a file through a link within":                  {dir("a", 0o755), link(tar.TypeSymlink, "l", "a"), file("l/f", "x")},
		"a file through two links":                      {link(tar.TypeSymlink, "l", "m"), link(tar.TypeSymlink, "m", ".."), file("l/out", "x")},
		"what is removed through a link":                {link(tar.TypeSymlink, "l", ".."), file("l/.wh.keep", "")},
		"what hides through a link":                     {link(tar.TypeSymlink, "l", ".."), file("l/.wh..wh..opq", "")},
		"a directory through a link":                    {link(tar.TypeSymlink, "l", ".."), dir("l/new", 0o755)},
		"a hard link out":                               {link(tar.TypeLink, "h", "../keep")},
		"a hard link out by a full path":                {link(tar.TypeLink, "h", "/etc/passwd")},
		"a hard link through a link":                    {link(tar.TypeSymlink, "l", ".."), link(tar.TypeLink, "h", "l/keep")},
		"a hard link through a link to the root":        {link(tar.TypeSymlink, "l", "/"), link(tar.TypeLink, "h", "l/etc/passwd")},
		"a hard link to a directory":                    {dir("a", 0o755), link(tar.TypeLink, "h", "a")},
		"a hard link to the root":                       {link(tar.TypeLink, "h", "/")},
		"a hard link to what is removed":                {file(".wh.f", ""), link(tar.TypeLink, "h", "f")},
		"a hard link to what is nowhere":                {link(tar.TypeLink, "h", "f")},
		"a hard link to itself":                         {file("f", "x"), link(tar.TypeLink, "f", "f")},
		"a file in a file":                              {file("f", "x"), file("f/g", "x")},
		"a file in a pipe":                              {link(tar.TypeFifo, "f", ""), file("f/g", "x")},
		"a file for a directory with files":             {file("d/f", "x"), file("d", "x")},
		"a link for a directory with files":             {file("d/f", "x"), link(tar.TypeSymlink, "d", "..")},
		"a root that is a file":                         {file(".", "x")},
		"a root that is a link":                         {link(tar.TypeSymlink, "/", "..")},
		"a removal of nothing":                          {file(".wh.", "")},
		"a removal of the directory":                    {file(".wh..", "")},
		"a removal of the directory above":              {file("a/.wh...", "")},
		"something in what is removed":                  {file(".wh.a/b", "")},
		"an owner that is none":                         {with(file("f", ""), func(h *tar.Header) { h.Uid = -1 })},
		"an owner that is too large":                    {with(file("f", ""), func(h *tar.Header) { h.Gid = 1 << 32 })},
		"an entry of a kind that nobody knows":          {link('Z', "f", "")},
		"more bytes than there may be":                  {file("f", strings.Repeat("x", 700_000)), file("g", strings.Repeat("x", 700_000))},
		"more entries than there may be":                manyFiles(201),
		"a path that is too deep":                       {file(deep+"f", "x")},
		"more implied directories than there may be":    {file(strings.Repeat("a/", maxDepth-1)+"f", ""), file(strings.Repeat("b/", maxDepth-1)+"f", ""), file(strings.Repeat("c/", maxDepth-1)+"f", "")},
		"a name that is too long for a file system":     {file(strings.Repeat("n", 300), "x")},
		"a path that is too long":                       {file(strings.Repeat(strings.Repeat("n", 200)+"/", 21)+"f", "x")},
		"a file with more bytes than a limit, of holes": {with(file("f", ""), func(h *tar.Header) { h.Size = 0; h.PAXRecords = sparse(1 << 40) })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "root")
			keep := filepath.Join(filepath.Dir(root), "keep")
			must(t, os.WriteFile(keep, []byte("kept"), 0o600))
			must(t, os.Mkdir(root, 0o700))
			raw := rawTar(t, in)
			_, err := unpack(t.Context(), root, bytes.NewReader(raw), Single, limits{bytes: 1 << 20, entries: 200, names: 1 << 20})
			if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("got %v, and\n%s", err, shown(t, root))
			}
			checkOutside(t, root)
		})
	}
}

func manyFiles(n int) (out []tar.Header) {
	for i := range n {
		out = append(out, file(strings.Repeat("f", i+1), ""))
	}
	return out
}

func sparse(size int64) map[string]string {
	return map[string]string{"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": "1099511627776", "GNU.sparse.numblocks": "0", "GNU.sparse.map": "", "GNU.sparse.name": "f"}
}

// rawTar writes what a writer of tar files wouldn't: by another, in its place.
func rawTar(t testing.TB, in []tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, h := range in {
		mended := h
		mended.PAXRecords = map[string]string{}
		for k, v := range h.PAXRecords {
			if strings.HasPrefix(k, "GNU.sparse.") {
				k = strings.Replace(k, "GNU", "GNX", 1)
			}
			mended.PAXRecords[k] = v
		}
		one := tarOf(t, mended)
		b.Write(bytes.ReplaceAll(one[:len(one)-1024], []byte("GNX.sparse."), []byte("GNU.sparse.")))
	}
	b.Write(make([]byte, 1024))
	return b.Bytes()
}

// checkOutside finds what was written beside the root, and devices in it.
func checkOutside(t testing.TB, root string) {
	t.Helper()
	above := filepath.Dir(root)
	all, err := os.ReadDir(above)
	must(t, err)
	for _, e := range all {
		if e.Name() != "keep" && e.Name() != "root" {
			t.Errorf("there is %s beside the root", e.Name())
		}
	}
	b, err := os.ReadFile(filepath.Join(above, "keep"))
	if st, _ := os.Lstat(filepath.Join(above, "keep")); err != nil || string(b) != "kept" || st.Mode() != 0o600 || st.Sys().(*syscall.Stat_t).Nlink != 1 {
		t.Errorf("what is beside the root is changed: %q, %v", b, err)
	}
	must(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && st.Mode()&os.ModeDevice != 0 && st.Sys().(*syscall.Stat_t).Rdev != 0 {
			t.Errorf("there is a device %s", path)
		}
		return err
	}))
}

// FuzzUnpack: whatever a layer is, nothing is written outside of its root, and no
// more than it may.
func FuzzUnpack(f *testing.F) {
	f.Add(tarOf(f, dir("a", 0o755), file("a/f", "x"), link(tar.TypeSymlink, "l", ".."), file(".wh.g", "")))
	f.Add(tarOf(f, link(tar.TypeSymlink, "l", ".."), file("a/.wh..wh..opq", ""), link(tar.TypeLink, "h", "l")))
	f.Add(tarOf(f, with(file("f", "x"), func(h *tar.Header) { h.PAXRecords["SCHILY.xattr.user.overlay.redirect"] = "/" })))
	f.Add(rawTar(f, []tar.Header{with(file("f", ""), func(h *tar.Header) { h.PAXRecords = sparse(1 << 40) })}))
	f.Fuzz(func(t *testing.T, b []byte) {
		above, err := os.MkdirTemp("", "fuzz-")
		must(t, err)
		defer os.RemoveAll(above)
		root := filepath.Join(above, "root")
		must(t, os.WriteFile(filepath.Join(above, "keep"), []byte("kept"), 0o600))
		must(t, os.Mkdir(root, 0o700))
		got, err := unpack(t.Context(), root, bytes.NewReader(b), Single, limits{bytes: 1 << 20, entries: 100, names: 1 << 20})
		checkOutside(t, root)
		if err == nil && (got.Bytes > 1<<20 || got.Entries > 100) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestADamagedLayer(t *testing.T) {
	t.Parallel()
	good := tarOf(t, file("a", strings.Repeat("x", 5000)), file("b", "y"))
	for name, raw := range map[string][]byte{
		"one that ends in a file":   good[:2000],
		"one that ends in a header": good[:100],
		"one that is no tar file":   []byte(strings.Repeat("hello ", 500)),
	} {
		root := t.TempDir()
		_, err := unpack(t.Context(), root, bytes.NewReader(raw), Single, defaultLimits)
		if !errors.Is(err, errors.NotValid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUnpackingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := unpack(ctx, t.TempDir(), bytes.NewReader(tarOf(t, file("a", "x"))), Single, defaultLimits)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTimesOfWhatIsUnpacked(t *testing.T) {
	t.Parallel()
	root, got, err := unpackHere(t, Single, dir("d", 0o755), file("d/f", "x"), link(tar.TypeSymlink, "d/l", "f"), link(tar.TypeFifo, "d/p", ""), file("i/f", ""),
		with(file("old", ""), func(h *tar.Header) { h.ModTime = time.Unix(-1<<40, 0); h.Format = tar.FormatGNU }))
	must(t, err)
	for name, want := range map[string]time.Time{"d": when, "d/f": when, "d/l": when, "d/p": when, "i/f": when, "i": time.Unix(0, 0), "old": time.Unix(0, 0)} {
		if st, err := os.Lstat(filepath.Join(root, name)); err != nil || !st.ModTime().Equal(want) {
			t.Errorf("%s is of %v, %v, want %v", name, st.ModTime(), err, want)
		}
	}
	if strings.Join(got.Implied, " ") != " i" { // the root is, too
		t.Errorf("implied are %q", got.Implied)
	}
}

// A capability, and what overlayfs would take for an order.
func TestHostAttributesAndOwners(t *testing.T) {
	t.Parallel()
	if form, err := FormHere(); err != nil || form != Root {
		t.Skip("only root of the host may give files away")
	}
	capability := string([]byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) // net_bind_service
	f := with(file("f", "x"), func(h *tar.Header) {
		h.Uid, h.Gid, h.Mode = 1234, 2_000_000_000, 0o4755
		for _, name := range []string{"security.capability", "user.a", "user.overlay.redirect", "user.overlay.opaque", "trusted.overlay.redirect", "trusted.x", "system.y"} {
			h.PAXRecords[xattrPrefix+name] = "v"
		}
		h.PAXRecords[xattrPrefix+"security.capability"] = capability
	})
	owned := func(h tar.Header) tar.Header { h.Uid, h.Gid = 7, 8; return h }
	d := owned(dir("d", 0o2750))
	d.PAXRecords = map[string]string{xattrPrefix + "trusted.overlay.opaque": "y", xattrPrefix + "user.b": "w"}
	for _, form := range []Form{Root, Single} {
		root, _, err := unpackHere(t, form, d, owned(link(tar.TypeSymlink, "l", "x")), owned(link(tar.TypeFifo, "p", "")), f, file("d/.wh.x", ""))
		must(t, err)
		for name, want := range map[string][2]uint32{"f": {1234, 2_000_000_000}, "d": {7, 8}, "l": {7, 8}, "p": {7, 8}} {
			if form == Single {
				want = [2]uint32{}
			}
			st, err := os.Lstat(filepath.Join(root, name))
			must(t, err)
			if s := st.Sys().(*syscall.Stat_t); s.Uid != want[0] || s.Gid != want[1] {
				t.Errorf("%s: %s belongs to %d:%d", form, name, s.Uid, s.Gid)
			}
		}
		if st, _ := os.Stat(filepath.Join(root, "f")); st.Mode() != 0o755|os.ModeSetuid {
			t.Errorf("%s: mode %v", form, st.Mode())
		}
		var names [1000]byte
		for name, want := range map[string]string{"f": " security.capability user.a", "d": " user.b"} {
			n, err := unix.Listxattr(filepath.Join(root, name), names[:])
			must(t, err)
			got := strings.Split(string(names[:n]), "\x00")
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %s has %q", form, name, got)
			}
		}
		var b [100]byte
		if n, err := unix.Getxattr(filepath.Join(root, "f"), "security.capability", b[:]); err != nil || string(b[:n]) != capability {
			t.Errorf("%s: the capability is %x, %v", form, b[:n], err)
		}
	}
}
