package charmdir

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
)

// fuzzSeeds are all texts that the tables have for a file.
func fuzzSeeds(f *testing.F, file string) {
	for _, rows := range [][]bad{badYAML(), badMetadata(), badStorage(), badConfig(), badActions()} {
		for _, row := range rows {
			if text, ok := row.in[file]; ok && len(text) < 2000 {
				f.Add(text)
			}
		}
	}
	f.Add("x: &x {y: &y [*x, *y]}\n<<: [*x, {z: 1}]\n? {}\n")
	f.Add("a: !!binary x\nb: !!float 0x1p\nc: !!timestamp 2001-01-01\nd: !!set {a}\n")
	f.Add("{}\n---\n[]\n")
}

// checkRead reads a charm's files: any error is one short line that names the
// file, and any charm can be stored and read again, the same.
func checkRead(t *testing.T, in files, file string) {
	tree := fstest.MapFS{}
	for name, text := range in {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	c, err := read(tree)
	if err != nil {
		got := err.Error()
		if !errors.Is(err, errors.NotValid) || !strings.HasPrefix(got, file+":") && !strings.HasPrefix(got, "metadata.yaml:") {
			t.Fatalf("error %q", got)
		}
		if strings.ContainsFunc(got, unprintable) {
			t.Fatalf("an error that isn't a line of text: %q", got)
		}
		return
	}
	stored, err := json.Marshal(c.Charm)
	must(t, err)
	var back model.Charm
	must(t, json.Unmarshal(stored, &back))

	// What is generated says the same.
	if file != "charmcraft.yaml" {
		return
	}
	again := fstest.MapFS{}
	for name, text := range c.generated {
		again[name] = &fstest.MapFile{Data: text}
	}
	c2, err := read(again)
	if err != nil {
		t.Fatalf("generated files: %v", err)
	}
	if !reflect.DeepEqual(c.Charm, c2.Charm) {
		t.Fatalf("charm\n%#v\nand by its generated files\n%#v", c.Charm, c2.Charm)
	}
}

func FuzzMetadata(f *testing.F) {
	fuzzSeeds(f, "metadata.yaml")
	f.Add(wholeMetadata)
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, files{"metadata.yaml": text}, "metadata.yaml") })
}

func FuzzConfig(f *testing.F) {
	fuzzSeeds(f, "config.yaml")
	f.Add(wholeConfig)
	f.Fuzz(func(t *testing.T, text string) {
		checkRead(t, files{"metadata.yaml": leastMetadata, "config.yaml": text}, "config.yaml")
	})
}

func FuzzActions(f *testing.F) {
	fuzzSeeds(f, "actions.yaml")
	f.Add(wholeActions)
	f.Fuzz(func(t *testing.T, text string) {
		checkRead(t, files{"metadata.yaml": leastMetadata, "actions.yaml": text}, "actions.yaml")
	})
}

func FuzzCharmcraft(f *testing.F) {
	fuzzSeeds(f, "charmcraft.yaml")
	f.Add(unified())
	f.Add("name: a\nconfig: {options: {a: {default: !!str 1}, b: {default: '0x1'}, c: {default: \"\\e\"}, d: {default: null}}}\nactions: {x: {params: {y: {a: 1e3, 2: [~]}}}}\n")
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, files{"charmcraft.yaml": text}, "charmcraft.yaml") })
}

func FuzzArchive(f *testing.F) {
	for _, path := range []string{
		files{"metadata.yaml": leastMetadata, "dispatch*": "x", "hooks/install@": "../dispatch", "empty/": ""}.archive(f),
		zipOf(f, raw{name: "metadata.yaml", text: "m", mode: fs.ModeSymlink}, raw{name: "m", text: leastMetadata}),
		zipOf(f, raw{name: "../x"}), zipOf(f, raw{name: "l", text: "..", mode: fs.ModeSymlink}, raw{name: "l/x", text: "x"}),
		zipOf(f, raw{name: "x", text: "x", said: 9}),
	} {
		b, err := os.ReadFile(path)
		must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		if len(archive) > 1<<16 {
			return // so that it can't unpack to more than some megabytes
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "a.charm")
		must(t, os.WriteFile(path, archive, 0o644))
		_, _ = ReadArchive(path)
		unit := filepath.Join(dir, "unit")
		must(t, os.Mkdir(unit, 0o755))
		d := NewDeployer(durable.Disk{}, unit)
		err := d.Deploy(t.Context(), path, newURL)
		if url, uerr := d.Deployed(); uerr != nil || (url == newURL) != (err == nil) {
			t.Fatalf("deployed %q (%v), error %v", url, uerr, err)
		}
		checkInside(t, dir, unit)
	})
}

// checkInside fails if anything is in dir but the archive and the unit, or in
// the unit but the charm, or leads out of the charm.
func checkInside(t *testing.T, dir, unit string) {
	t.Helper()
	for name := range look(t, dir) {
		rel, inUnit := strings.CutPrefix(name, "unit/")
		if name != "a.charm" && !(inUnit && (rel == "" || strings.HasPrefix(rel, charmName+"/"))) {
			t.Fatalf("unpacked to %q", name)
		}
		if link, ok := strings.CutSuffix(name, "@"); ok {
			root, err := filepath.EvalSymlinks(filepath.Join(unit, charmName))
			must(t, err)
			to, err := filepath.EvalSymlinks(filepath.Join(dir, link))
			if err == nil && to != root && !strings.HasPrefix(to, root+"/") {
				t.Fatalf("link %q leads to %q", link, to)
			}
		}
	}
}
