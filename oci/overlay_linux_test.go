package oci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

// everything is an image with all that layers can do to each other.
func everything(t testing.TB) v1.Image {
	capable := with(file("usr/bin/ping", "p"), func(h *tar.Header) {
		h.Mode = 0o755
		h.PAXRecords[xattrPrefix+"security.capability"] = string([]byte{1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	})
	owned := func(h tar.Header, uid, gid int) tar.Header { h.Uid, h.Gid = uid, gid; return h }
	setuid := with(file("usr/bin/su", "s"), func(h *tar.Header) { h.Mode = 0o4755 })
	return imageOf(t,
		layerOf(t, tarOf(t,
			dir("./", 0o755), dir("usr", 0o755), dir("usr/bin", 0o755), capable, setuid, link(tar.TypeSymlink, "bin", "usr/bin"), dir("tmp", 0o1777),
			owned(dir("home/app", 0o700), 1000, 1000), owned(file("home/app/f", "x"), 1000, 1000), owned(link(tar.TypeSymlink, "home/app/l", "f"), 1000, 1000),
			dir("opaque", 0o755), file("opaque/old", "o"), dir("gone", 0o755), file("gone/f", "x"), file("removed", "r"), dir("again", 0o755), file("again/old", "o"),
			file("kind", "was a file"), file("a", "a"), link(tar.TypeLink, "b", "a"), file("x", "x"), link(tar.TypeLink, "y", "x"), link(tar.TypeFifo, "pipe", ""), owned(dir("var/lib/db", 0o2770), 5, 6),
			owned(dir("replaced", 0o700), 9, 9), file("replaced/old", "x"),
		), gzipped),
		// Directories without entries of their own: as they are below, or as they aren't
		// any more.
		layerOf(t, tarOf(t,
			file("tmp/new", "n"), file("home/app/g", "y"), file("var/lib/db/data", "d"), file(".wh.gone", ""), file(".wh.removed", ""), file("opaque/.wh..wh..opq", ""),
			dir("opaque", 0o711), file("opaque/new", "n"), file(".wh.again", ""), dir("again", 0o700), file("again/new", "n"), dir("kind", 0o755), file("kind/f", "f"),
			file("a", "a2"), file(".wh.replaced", ""), file("replaced/new", "n"),
		), zstandard),
		layerOf(t, tarOf(t, file("home/app/sub/h", "z"), owned(dir("late", 0o750), 3, 3), file("late/f", "")), plain),
		layerOf(t, tarOf(t, file("late/g", ""), file("removed", "back")), gzipped),
	)
}

// listing describes a tree with owners, attributes and links; and with times, but
// for directories, of which tar changes those that it writes into.
func listing(t testing.TB, root string) string {
	t.Helper()
	links := map[uint64]string{}
	var out []string
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(path)
		must(t, err)
		s := st.Sys().(*syscall.Stat_t)
		name, _ := filepath.Rel(root, path)
		line := fmt.Sprintf("%s %v %d:%d", name, st.Mode(), s.Uid, s.Gid)
		switch {
		case st.Mode().IsRegular():
			b, err := os.ReadFile(path)
			must(t, err)
			line += fmt.Sprintf(" %q %d", b, st.ModTime().Unix())
			if first := links[s.Ino]; first != "" {
				line += " is " + first
			} else {
				links[s.Ino] = name
			}
			var cap [100]byte
			if n, err := unix.Getxattr(path, "security.capability", cap[:]); err == nil {
				line += fmt.Sprintf(" can %x", cap[:n])
			}
		case st.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += fmt.Sprintf(" -> %s %d", to, st.ModTime().Unix())
		}
		out = append(out, line)
		return nil
	}))
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// flattened is what tar makes of the layers, one after the other in one directory,
// where what a layer removes is removed before. (The library's own way to flatten an
// image loses what a layer removes and has again without an entry for its
// directory, and files whose other name is replaced.)
func flattened(t testing.TB, i v1.Image) string {
	t.Helper()
	root := t.TempDir()
	layers, err := i.Layers()
	must(t, err)
	for _, l := range layers {
		r, err := l.Uncompressed()
		must(t, err)
		b, err := io.ReadAll(r)
		must(t, err)
		for in := tar.NewReader(bytes.NewReader(b)); ; {
			h, err := in.Next()
			if err == io.EOF {
				break
			}
			must(t, err)
			parent, base := path.Split(h.Name)
			if base == opaqueName {
				base = whiteout + "*"
			}
			if name, ok := strings.CutPrefix(base, whiteout); ok {
				all, err := filepath.Glob(filepath.Join(root, parent, name))
				must(t, err)
				for _, at := range all {
					must(t, os.RemoveAll(at))
				}
			}
		}
		tarring := exec.Command("tar", "-x", "-p", "--xattrs", "--xattrs-include=*", "--numeric-owner", "--exclude=.wh.*", "-C", root)
		tarring.Stdin = bytes.NewReader(b)
		if out, err := tarring.CombinedOutput(); err != nil {
			t.Fatalf("tar: %v: %s", err, out)
		}
	}
	return root
}

// mounted is a mount of an image, in which nothing can be changed.
func mounted(t testing.TB, i *Image) string {
	t.Helper()
	at := t.TempDir()
	dir, lower := i.Lower()
	if len(i.Layers) == 1 { // overlayfs wants two
		t.Fatal("one layer only")
	}
	options := "lowerdir=" + lower
	if i.Form.UserXattr() {
		options += ",userxattr"
	}
	ended := make(chan error)
	go func() { // a thread of its own has a working directory of its own
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = unix.Chdir(dir)
		}
		if err == nil {
			err = unix.Mount("oci", at, "overlay", unix.MS_RDONLY, options)
		}
		ended <- err
	}()
	if err := <-ended; err != nil {
		t.Fatalf("mount with %s: %v", options, err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(at, 0)) })
	return at
}

func needsRoot(t testing.TB) {
	t.Helper()
	if form, err := FormHere(); err != nil || form != Root {
		t.Skip("only root of the host may mount")
	}
	var st unix.Statfs_t
	if unix.Statfs(t.TempDir(), &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC {
		t.Skip("the directory for tests is on an overlay itself")
	}
}

func TestHostAMountedImageIsWhatTarMakesOfIt(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	image := everything(t)
	want := listing(t, flattened(t, image))
	for _, form := range []Form{Root, Mapped} {
		c := cacheIn(t)
		c.Form = form
		_, i := fetched(t, c, source(t, layoutOf(t, image)))
		got := listing(t, mounted(t, i))
		if got != want {
			t.Errorf("%s: mounted is\n%s\n\nand tar has\n%s", form, got, want)
		}
		if n := len(i.Layers); n != 5 {
			t.Errorf("%d layers, and should be 4, and one for implied directories", n)
		}
	}
}

// As many layers as an image may have fit into a mount's options.
func TestHostManyLayersAreMounted(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	var layers []v1.Layer
	for n := range maxLayers {
		layers = append(layers, layerOf(t, tarOf(t, dir("d", 0o750), file(fmt.Sprintf("d/%d", n), "x")), plain))
	}
	layers = append(layers[:maxLayers-1], layers[0]) // one of them twice
	c := cacheIn(t)
	_, i := fetched(t, c, source(t, layoutOf(t, imageOf(t, layers...))))
	all, err := os.ReadDir(filepath.Join(mounted(t, i), "d"))
	if err != nil || len(all) != maxLayers-1 {
		t.Errorf("%d files, %v", len(all), err)
	}
	if _, lower := i.Lower(); len(lower) > 3600 {
		t.Errorf("lowerdir has %d bytes", len(lower))
	}
}

// Who has one id unpacks, mounts in a user name space, and prunes.
func TestHostAnImageForWhoHasOneID(t *testing.T) {
	needsRoot(t)
	base, err := os.MkdirTemp("", "oci-")
	must(t, err)
	defer os.RemoveAll(base)
	must(t, os.Chmod(base, 0o755))
	layout := filepath.Join(base, "layout")
	must(t, os.Rename(layoutOf(t, everything(t)), layout))
	must(t, os.Chmod(layout, 0o755))
	must(t, exec.Command("chmod", "-R", "a+rX", layout).Run())
	program := filepath.Join(base, "test")
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(program, self, 0o755))
	cache := filepath.Join(base, "cache")
	must(t, os.Mkdir(cache, 0o700))
	must(t, os.Chown(cache, 65534, 65534))
	run := func(as *syscall.SysProcAttr, test string) {
		t.Helper()
		cmd := exec.Command(program, "-test.run", "^"+test+"$", "-test.v")
		cmd.Dir = base
		cmd.Env = append(os.Environ(), "OCI_TEST_CACHE="+cache, "OCI_TEST_LAYOUT="+layout, "HOME="+base, "TMPDIR="+base)
		cmd.SysProcAttr = as
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
			t.Errorf("%s: %v\n%s", test, err, out)
		}
	}
	run(&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, "TestAsOneID")
}

// TestAsOneID is run by TestHostAnImageForWhoHasOneID.
func TestAsOneID(t *testing.T) {
	dir := os.Getenv("OCI_TEST_CACHE")
	if dir == "" {
		t.Skip("TestHostAnImageForWhoHasOneID runs this")
	}
	if form, err := FormHere(); err != nil || form != Single {
		t.Fatalf("the form is %s, %v", form, err)
	}
	c := &Cache{Dir: dir}
	s := source2(t, "oci-layout:"+os.Getenv("OCI_TEST_LAYOUT"))
	r, err := c.Resolve(t.Context(), s)
	must(t, err)
	i, err := c.Fetch(t.Context(), s, r.Digest)
	must(t, err)
	below, lower := i.Lower()
	look := exec.Command("sh", "-ec", `mkdir -p "$OCI_TEST_CACHE/at"; mount -t overlay oci -o ro,userxattr,lowerdir="$LOWER" "$OCI_TEST_CACHE/at"; cd "$OCI_TEST_CACHE/at"
		ls again opaque kind; cat a b removed home/app/f; stat -c '%a %u %n' tmp home/app var/lib/db; test ! -e gone; test ! -e opaque/old`)
	look.Dir = below
	look.Env = append(os.Environ(), "LOWER="+lower)
	look.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := look.CombinedOutput()
	want := "again:\nnew\n\nkind:\nf\n\nopaque:\nnew\na2abackx1777 0 tmp\n700 0 home/app\n2770 0 var/lib/db\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, out, want)
	}
	r.Release()
	i.Release()
	if p, err := c.Prune(t.Context(), 0, nobody); err != nil || len(p.Removed) != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
	must(t, os.RemoveAll(dir+"/at"))
}
