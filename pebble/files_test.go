package pebble_test

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
)

func TestFilesAreWrittenListedReadAndRemoved(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	ctx, dir := t.Context(), t.TempDir()
	content := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	for _, name := range []string{"plain", `quo"te\and`, "ünïcode ✓", "per%20cent", "semi;colon=1", "line\nbreak"} {
		path := filepath.Join(dir, "a", "b", name)
		must(t, c.WriteFile(ctx, path, bytes.NewReader(content), pebble.WriteOptions{Parents: true, Permissions: 0o40}))
		if got := value[[]byte](t)(os.ReadFile(path)); !bytes.Equal(got, content) {
			t.Errorf("%q has %d other bytes", name, len(got))
		}
		var read bytes.Buffer
		must(t, c.ReadFile(ctx, path, &read))
		if !bytes.Equal(read.Bytes(), content) {
			t.Errorf("of %q other bytes are read, %d", name, read.Len())
		}
	}
	must(t, c.WriteFile(ctx, dir+"/a/empty", strings.NewReader(""), pebble.WriteOptions{}))
	must(t, c.ReadFile(ctx, dir+"/a/empty", io.Discard))
	must(t, os.Symlink("b", dir+"/a/link"))
	must(t, c.MakeDir(ctx, dir+"/a/made", pebble.MakeDirOptions{Permissions: 0o700}))

	infos := value[[]pebble.FileInfo](t)(c.ListFiles(ctx, dir+"/a", pebble.ListOptions{}))
	var got []string
	for _, f := range infos {
		got = append(got, f.Mode.String()+" "+f.Name)
		if f.Path != dir+"/a/"+f.Name || f.UserID == nil || *f.UserID != os.Getuid() || f.Modified.IsZero() {
			t.Errorf("it is %+v", f)
		}
	}
	if want := []string{"drwxr-xr-x b", "-rw-r--r-- empty", "Lrwxrwxrwx link", "drwx------ made"}; !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	plain := value[[]pebble.FileInfo](t)(c.ListFiles(ctx, dir+"/a/b", pebble.ListOptions{Pattern: "pl*"}))
	if len(plain) != 1 || plain[0].Size != int64(len(content)) || plain[0].Mode != 0o40 {
		t.Errorf("by pattern there are %+v", plain)
	}
	if itself := value[[]pebble.FileInfo](t)(c.ListFiles(ctx, dir+"/a/b", pebble.ListOptions{Itself: true})); len(itself) != 1 || itself[0].Name != "b" {
		t.Errorf("itself it is %+v", itself)
	}
	if err := c.Remove(ctx, dir+"/a", false); err == nil {
		t.Error("a directory that isn't empty was removed")
	}
	must(t, c.Remove(ctx, dir+"/a", true))
	must(t, c.Remove(ctx, dir+"/a", true))
	_, err := os.Lstat(dir + "/a")
	wantError(t, "what is left", err, fs.ErrNotExist)
}

func TestWhatPebbleRefusesOfFilesIsAnAPIError(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	ctx, dir := t.Context(), t.TempDir()
	_, err := c.ListFiles(ctx, dir+"/nope", pebble.ListOptions{})
	wantError(t, "listing what isn't there", err, errors.NotFound)
	wantError(t, "reading it", c.ReadFile(ctx, dir+"/nope", io.Discard), errors.NotFound)
	wantError(t, "removing it", c.Remove(ctx, dir+"/nope", false), errors.NotFound)
	wantError(t, "writing below it", c.WriteFile(ctx, dir+"/nope/x", strings.NewReader("x"), pebble.WriteOptions{}), errors.NotFound)
	wantError(t, "making below it", c.MakeDir(ctx, dir+"/nope/x", pebble.MakeDirOptions{}), errors.NotFound)
	for what, err := range map[string]error{
		"a relative path":      c.WriteFile(ctx, "x", strings.NewReader("x"), pebble.WriteOptions{}),
		"a user there isn't":   c.WriteFile(ctx, dir+"/x", strings.NewReader("x"), pebble.WriteOptions{Owner: pebble.Owner{User: "nobody-here"}}),
		"reading a directory":  c.ReadFile(ctx, dir, io.Discard),
		"a directory as there": c.MakeDir(ctx, dir, pebble.MakeDirOptions{}),
	} {
		var refused *pebble.APIError
		if !errors.As(err, &refused) || refused.Message == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnErrorOfTheCallersOwnFileIsItsOwn(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	ctx, path := t.Context(), t.TempDir()+"/x"
	err := c.WriteFile(ctx, path, io.MultiReader(strings.NewReader("some"), failing{}), pebble.WriteOptions{})
	wantError(t, "a source that fails", err, syscall.EPIPE)
	if errors.Is(err, pebble.ErrBroken) {
		t.Error("the source's error passes for the connection's")
	}
	_, err = os.Lstat(path)
	wantError(t, "what is written then", err, fs.ErrNotExist)
	must(t, os.WriteFile(path, []byte("content"), 0o600))
	err = c.ReadFile(ctx, path, failing{})
	wantError(t, "a target that fails", err, syscall.EPIPE)
	if errors.Is(err, pebble.ErrBroken) {
		t.Error("the target's error passes for the connection's")
	}
}

// failing is a file that is broken, by an error that connections have as well.
type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, syscall.EPIPE }
func (failing) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestHostFilesBelongToTheUserThatIsNamed(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("skipped: only root gives files away")
	}
	_, c := start(t, pebbletest.Options{})
	ctx, dir, id := t.Context(), t.TempDir(), 4321
	must(t, c.WriteFile(ctx, dir+"/named", strings.NewReader("x"), pebble.WriteOptions{Owner: pebble.Owner{User: "daemon", Group: "daemon"}}))
	must(t, c.WriteFile(ctx, dir+"/numbered", strings.NewReader("x"), pebble.WriteOptions{Owner: pebble.Owner{UserID: &id, GroupID: &id}}))
	must(t, c.MakeDir(ctx, dir+"/p/q", pebble.MakeDirOptions{Owner: pebble.Owner{User: "daemon", Group: "daemon"}, Parents: true}))
	for name, want := range map[string]int{"named": 1, "numbered": id, "p": 1, "p/q": 1} {
		f := value[[]pebble.FileInfo](t)(c.ListFiles(ctx, dir+"/"+name, pebble.ListOptions{Itself: true}))[0]
		if f.UserID == nil || *f.UserID != want || f.GroupID == nil || *f.GroupID != want || (want == 1) != (f.User == "daemon" && f.Group == "daemon") {
			t.Errorf("%s is %+v of %v:%v", name, f, *f.UserID, *f.GroupID)
		}
	}
}
