package render

import (
	"fmt"
	"strings"

	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/history"
)

// FilesText is what a run has made, changed and removed, a line for each file behind an indent;
// with diffs, what became of the text in each. nil: it wasn't recorded.
func FilesText(f *footprint.Found, diffs bool, indent string) string {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(indent + fmt.Sprintf(format, args...) + "\n") }
	if f == nil {
		line("not recorded")
		return b.String()
	}
	for _, c := range f.Files {
		switch note := Harmless(c.Note); {
		case !diffs:
			line("%s %s", c.How, Harmless(c.Path))
		case note == "" && c.Diff == "":
			line("%s %s: its text wasn't recorded", c.How, Harmless(c.Path))
		case note != "":
			line("%s %s: %s", c.How, Harmless(c.Path), note)
		default:
			line("%s %s", c.How, Harmless(c.Path))
			for l := range strings.Lines(c.Diff) {
				line("    %s", Harmless(strings.TrimRight(l, "\n")))
			}
		}
	}
	if f.More > 0 {
		line("and %d more files", f.More)
	}
	if f.Note != "" {
		line("%s", Harmless(f.Note))
	} else if len(f.Files) == 0 {
		line("no file")
	}
	return b.String()
}

// HistoryFiles shows hook runs for people, each with what it did to files as of says. A run of
// a hook that the charm lacks has done nothing.
func HistoryFiles(runs []history.Entry, of func(history.Entry) *footprint.Found) string {
	var b strings.Builder
	for _, e := range runs {
		fmt.Fprintf(&b, "%s %d %s: %s\n", e.Unit, e.Run, hookOf(e), outcomeOf(e))
		if !e.Missing {
			b.WriteString(FilesText(of(e), false, "    "))
		}
	}
	return b.String()
}

// howWords are what became of a file, as programs read it.
var howWords = map[footprint.How]string{footprint.Made: "made", footprint.Changed: "changed", footprint.Removed: "removed"}

// AddFiles adds to a run, as RunTree has it, what it did to files; nil: it wasn't recorded, and
// nothing is said.
func AddFiles(t Tree, f *footprint.Found, diffs bool) {
	if f == nil {
		return
	}
	list := []Tree{}
	for _, c := range f.Files {
		one := Tree{"path": c.Path, "change": howWords[c.How], "size": c.Size}
		if diffs && c.Diff != "" {
			one["diff"] = c.Diff
		}
		if diffs && c.Note != "" {
			one["note"] = c.Note
		}
		list = append(list, one)
	}
	t["files"] = list
	if f.More > 0 {
		t["more-files"] = f.More
	}
	if f.Note != "" {
		t["files-note"] = f.Note
	}
}
