package mounts_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/mounts"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const list = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 /a\040part /srv/a\040controller/fs rw - tmpfs tmpfs rw
24 22 0:22 / /srv/a\134b\011c\012d rw shared:2 master:1 - overlay overlay rw
short
25 22 0:23 / /srv/without/end rw - tmpfs tmpfs rw`
	want := []mounts.Mount{
		{"8:1", "/", "/", "ext4"},
		{"0:21", "/a part", "/srv/a controller/fs", "tmpfs"},
		{"0:22", "/", "/srv/a\\b\tc\nd", "overlay"},
		{"0:23", "/", "/srv/without/end", "tmpfs"},
	}
	got, err := mounts.Read(strings.NewReader(list))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	all, err := mounts.Own()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the kernel has no list of mounts here")
	}
	if err != nil || !slices.ContainsFunc(all, func(m mounts.Mount) bool { return m.At == "/proc" && m.Kind == "proc" }) {
		t.Errorf("%v, %v", all, err)
	}
}
