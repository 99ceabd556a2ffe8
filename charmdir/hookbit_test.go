package charmdir

import (
	"io/fs"
	"maps"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/durable"
)

// TestHooksAreMadeExecutable where a tree is packed, and where an archive that
// was packed by somebody else is unpacked: the hooks that the charm can have, and
// nothing else.
func TestHooksAreMadeExecutable(t *testing.T) {
	t.Parallel()
	const metadata = "name: a\nrequires: {db: {interface: x}}\nstorage: {disk: {type: filesystem}}\n"
	given := files{
		"metadata.yaml": metadata, "dispatch": "", "actions/install": "", "install": "", "lib/hooks/install": "", "hooks/lib/install": "",
		"hooks/install": "", "hooks/secret-changed": "", "hooks/db-relation-joined": "", "hooks/disk-storage-attached": "", "hooks/stop*": "",
		"hooks/other-relation-joined": "", "hooks/common.sh": "", "hooks/start@": "common.sh",
	}
	want := files{
		"metadata.yaml": metadata, "dispatch": "", "actions/": "", "actions/install": "", "install": "", "lib/": "", "lib/hooks/": "", "lib/hooks/install": "",
		"hooks/": "", "hooks/lib/": "", "hooks/lib/install": "",
		"hooks/install*": "", "hooks/secret-changed*": "", "hooks/db-relation-joined*": "", "hooks/disk-storage-attached*": "", "hooks/stop*": "",
		"hooks/other-relation-joined": "", "hooks/common.sh": "", "hooks/start@": "common.sh",
	}
	packed := given.archive(t)
	var entries []raw
	for name, text := range given {
		switch name[len(name)-1] {
		case '*':
			entries = append(entries, raw{name: name[:len(name)-1], text: text, mode: 0o755})
		case '@':
			entries = append(entries, raw{name: name[:len(name)-1], text: text, mode: fs.ModeSymlink | 0o777})
		default:
			entries = append(entries, raw{name: name, text: text})
		}
	}
	for how, archive := range map[string]string{"packed here": packed, "packed by others": zipOf(t, entries...)} {
		unit := t.TempDir()
		must(t, NewDeployer(durable.Disk{}, unit).Deploy(t.Context(), archive, "local:a-0"))
		got := look(t, filepath.Join(unit, "charm"))
		delete(got, markerName)
		if !maps.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", how, got, want)
		}
	}
	if modes := modesIn(t, packed); modes["hooks/install"]&0o111 == 0 || modes["dispatch"]&0o111 != 0 {
		t.Errorf("in the archive: %v", modes)
	}
}
