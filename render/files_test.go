package render_test

import (
	"testing"

	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/render"
)

func TestFilesOfRuns(t *testing.T) {
	t.Parallel()
	found := &footprint.Found{
		Files: []footprint.Change{
			{How: footprint.Made, Path: "data/new", Size: 4, Diff: "--- data/new (before)\n+++ data/new\n@@ -0,0 +1 @@\n+new\n"},
			{How: footprint.Changed, Path: "/var/blob", Note: "binary"},
			{How: footprint.Removed, Path: "/etc/\x1b[31mred"},
		},
		More: 7, Note: "not all is known",
	}
	for _, test := range []struct {
		name  string
		found *footprint.Found
		diffs bool
		want  string
	}{
		{"names", found, false, "+ data/new\nM /var/blob\n- /etc/ [31mred\nand 7 more files\nnot all is known\n"},
		{"diffs", found, true, "+ data/new\n    --- data/new (before)\n    +++ data/new\n    @@ -0,0 +1 @@\n    +new\nM /var/blob: binary\n- /etc/ [31mred: its text wasn't recorded\nand 7 more files\nnot all is known\n"},
		{"a run that has changed none", &footprint.Found{}, false, "no file\n"},
		{"a run of which nothing was recorded", nil, false, "not recorded\n"},
	} {
		if have := render.FilesText(test.found, test.diffs, ""); have != test.want {
			t.Errorf("%s:\nhave %q\nwant %q", test.name, have, test.want)
		}
	}
	runs := []history.Entry{
		{Unit: "shop/0", Run: 1, Name: "install", Hook: hooks.Info{Kind: hooks.Install}, Outcome: history.Committed, Missing: true},
		{Unit: "shop/0", Run: 2, Name: "start", Hook: hooks.Info{Kind: hooks.Start}, Outcome: history.Committed},
	}
	want := "shop/0 1 install: not in the charm\nshop/0 2 start: committed\n    no file\n"
	if have := render.HistoryFiles(runs, func(history.Entry) *footprint.Found { return &footprint.Found{} }); have != want {
		t.Errorf("have %q, want %q", have, want)
	}
}
