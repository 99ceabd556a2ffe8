package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/terminal"
)

func TestTheProgressOfAnImageIsOneLine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l := terminal.LineOf(&b, 40)
	show := &hookLines{app: base{&output{Streams: Streams{Out: io.Discard, Err: io.Discard}}, nil}, model: "default", images: l}
	for _, p := range []oci.Progress{
		{Reference: "web:1", Layers: 2},                                            // its manifest was looked up
		{Reference: "web:1", Total: 2_500_000, Layers: 2, Unpack: 2},               //
		{Reference: "web:1", Total: 2_500_000, Fetched: 400_000, Layers: 2},        // the same text
		{Reference: "web:1", Total: 2_500_000, Fetched: 1_400_000, Layers: 2},      //
		{Reference: "web:1", Total: 9, Fetched: 9, Ready: 1, Layers: 2, Unpack: 2}, //
		{Reference: "web:1", Total: 9, Fetched: 9, Ready: 2, Layers: 2, Unpack: 2}, // done
		{Reference: "web:1", Layers: 2, Ready: 1},                                  // all was there
		{Reference: "we\x1bb:" + strings.Repeat("x", 80), Total: 9, Layers: 1},
	} {
		show.event(machine.Event{Kind: machine.ImageFetch, Model: "default", Image: p})
	}
	show.event(machine.Event{Kind: machine.ImageFetch, Model: "another", Image: oci.Progress{Reference: "db", Total: 9}})
	l.Clear()
	lines := strings.Split(b.String(), terminal.ClearLine)[1:]
	want := []string{"  web:1: 0 of 3 MB", "  web:1: 1 of 3 MB", "  web:1: unpacked 1 of 2 layers", ""}
	if len(lines) != len(want)+2 || strings.Join(lines[:len(want)], "|") != strings.Join(want, "|") {
		t.Fatalf("got %q", lines)
	}
	if long := lines[len(want)]; len([]rune(long)) != 39 || !strings.HasSuffix(long, "xxx: 0 of 1 MB") || strings.Contains(long, "\x1b") {
		t.Errorf("got %q", long)
	}
	if lines[len(want)+1] != "" {
		t.Errorf("left is %q", lines[len(want)+1])
	}
	var none *terminal.Line
	none.Show("web:1", "0 of 1 MB")
	none.Clear()
}
