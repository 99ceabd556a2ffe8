package charmdir

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"
)

// bad is a charm that must be refused, with the whole error as a person reads
// it after "cannot read charm <path>: ".
type bad struct {
	name string
	in   files
	want string
}

func meta(lines ...string) files {
	return files{"metadata.yaml": "name: a\n" + strings.Join(lines, "\n")}
}

func config(lines ...string) files {
	return files{"metadata.yaml": "name: a", "config.yaml": "options:\n  " + strings.Join(lines, "\n  ")}
}

func actions(lines ...string) files {
	return files{"metadata.yaml": "name: a", "actions.yaml": strings.Join(lines, "\n")}
}

func TestReadBadCharms(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]bad{badYAML(), badMetadata(), badStorage(), badConfig(), badActions(), badContainers()} {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				dir := row.in.dir(t)
				_, err := Read(dir)
				if err == nil {
					t.Fatal("no error")
				}
				got := strings.TrimPrefix(err.Error(), "cannot read charm "+dir+": ")
				if got != row.want || !errors.Is(err, errors.NotValid) {
					t.Errorf("\n got %s\nwant %s\nnot valid: %v", got, row.want, errors.Is(err, errors.NotValid))
				}
				if strings.ContainsFunc(got, unprintable) {
					t.Errorf("not one line of text: %q", got)
				}
			})
		}
	}
}

func badYAML() []bad {
	deep := "name: a\nx: " + strings.Repeat("[", 600) + strings.Repeat("]", 600)
	return []bad{
		{"no file says what it is", files{"dispatch*": ""}, "it has no metadata.yaml and no charmcraft.yaml"},
		{"a file isn't YAML", files{"metadata.yaml": "name: a\n  b: [\n"}, "metadata.yaml:2: mapping values are not allowed in this context"},
		{"a file has control characters", files{"metadata.yaml": "name: \x01"}, "metadata.yaml: control characters are not allowed"},
		{"an anchor isn't there", files{"metadata.yaml": "name: a\nsummary: *x"}, "metadata.yaml: unknown anchor 'x' referenced"},
		{"a file is a list", files{"metadata.yaml": "- name: a"}, "metadata.yaml:1: expected a map, got a list"},
		{"a file is a word", meta().with("config.yaml", "options"), `config.yaml:1: expected a map, got "options"`},
		{"a key is given twice", meta("summary: a", "summary: b"), `metadata.yaml:3: key "summary" is given twice`},
		{"a key is a list", meta("? [a]", ": b"), "metadata.yaml:2: expected a word as key, got a list"},
		{"a key is longer than any key", meta(strings.Repeat("k", 1001) + ": b"), `metadata.yaml:2: key "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…" is longer than 1000 bytes`},
		{"a merge of a word", meta("<<: b"), `metadata.yaml:2: expected a map after <<, got "b"`},
		{"a merge of a list of words", meta("<<: [b]"), `metadata.yaml:2: expected a map after <<, got "b"`},
		{"an alias leads to itself", meta("x: &x {y: *x}"), "metadata.yaml:2: too many values, or too deep (does an alias lead to itself?)"},
		{"values are too deep", files{"metadata.yaml": deep}, "metadata.yaml:2: too many values, or too deep (does an alias lead to itself?)"},
		{"a metadata file is a directory", files{"metadata.yaml/": ""}, "metadata.yaml: not a file"},
		{"a metadata file is too large", files{"metadata.yaml": "#" + strings.Repeat(" ", maxMetadata)}, "metadata.yaml: larger than 4194304 bytes"},
		{"a key with a line break is shown in one line", meta("provides: {\"a\\nb\": x}"), `metadata.yaml:2: "provides.a\nb": invalid endpoint name "a\nb"`},
		{"a value with a line break is shown in one line", meta("subordinate: \"a\\nb\\u2028\""), `metadata.yaml:2: subordinate: expected true or false, got "a\nb\u2028"`},
	}
}

func badMetadata() []bad {
	return []bad{
		{"no name", files{"metadata.yaml": "summary: a"}, "metadata.yaml:1: name: missing"},
		{"an empty charmcraft.yaml", files{"charmcraft.yaml": ""}, "charmcraft.yaml: name: missing"},
		{"the name is a number", files{"metadata.yaml": "name: 1"}, "metadata.yaml:1: name: expected text, got 1"},
		{"the name has capitals", files{"metadata.yaml": "name: MyApp"}, `metadata.yaml:1: name: invalid charm name "MyApp"`},
		{"the name ends in a number that could be a unit's", files{"metadata.yaml": "name: a-1"}, `metadata.yaml:1: name: invalid charm name "a-1"`},
		{"the name could leave its directory", files{"charmcraft.yaml": "name: ../a"}, `charmcraft.yaml:1: name: invalid charm name "../a"`},
		{"the summary is a list", meta("summary: [a]"), "metadata.yaml:2: summary: expected text, got a list"},
		{"the description is a map", meta("description: {a: b}"), "metadata.yaml:2: description: expected text, got a map"},
		{"subordinate is a word", meta("subordinate: maybe"), `metadata.yaml:2: subordinate: expected true or false, got "maybe"`},
		{"subordinate without a container-scoped requirement", meta("subordinate: true", "requires: {a: b}", "provides: {c: {interface: d, scope: container}}"), "metadata.yaml:2: subordinate: a subordinate charm requires a relation with container scope, and this one has none"},
		{"provides is a list", meta("provides: [a]"), "metadata.yaml:2: provides: expected a map, got a list"},
		{"an endpoint is a number", meta("provides:", "  a: 3"), "metadata.yaml:3: provides.a: expected a map, got 3"},
		{"an endpoint has no interface", meta("provides:", "  a: {limit: 1}"), "metadata.yaml:3: provides.a: no interface"},
		{"an endpoint is null", meta("provides:", "  a:"), "metadata.yaml:3: provides.a: no interface"},
		{"an interface is a number", meta("provides:", "  a:", "    interface: 3"), "metadata.yaml:4: provides.a.interface: expected text, got 3"},
		{"an endpoint's name has a blank", meta("provides:", "  a b: c"), `metadata.yaml:3: provides.a b: invalid endpoint name "a b"`},
		{"an endpoint's name is empty", meta("provides:", "  \"\": c"), `metadata.yaml:3: provides: invalid endpoint name ""`},
		{"a provided endpoint is called juju", meta("provides:", "  juju: x"), `metadata.yaml:3: provides.juju: reserved relation name "juju": "juju" and names that begin with "juju-" are Juju's own`},
		{"a peer begins with juju-", meta("peers:", "  juju-x: x"), `metadata.yaml:3: peers.juju-x: reserved relation name "juju-x": "juju" and names that begin with "juju-" are Juju's own`},
		{"a provided interface is Juju's", meta("provides:", "  info: juju-info"), `metadata.yaml:3: provides.info: reserved interface "juju-info"`},
		{"an endpoint is provided and required", meta("provides:", "  db: x", "requires:", "  db: y"), `metadata.yaml:5: requires.db: duplicate endpoint name "db"`},
		{"an endpoint is a peer too", meta("requires:", "  db: x", "peers:", "  db: y"), `metadata.yaml:5: peers.db: duplicate endpoint name "db"`},
		{"an unknown scope", meta("requires:", "  db: {interface: x,", "       scope: local}"), `metadata.yaml:4: requires.db.scope: unknown scope "local", expected global or container`},
		{"a limit is a word", meta("requires:", "  db: {interface: x, limit: many}"), `metadata.yaml:3: requires.db.limit: expected a whole number, got "many"`},
		{"a limit is half a relation", meta("requires:", "  db: {interface: x, limit: 1.5}"), "metadata.yaml:3: requires.db.limit: expected a whole number, got 1.5"},
		{"a limit is below zero", meta("requires:", "  db: {interface: x, limit: -1}"), "metadata.yaml:3: requires.db.limit: expected a number from 0 up, got -1"},
		{"optional is a word", meta("requires:", "  db: {interface: x, optional: perhaps}"), `metadata.yaml:3: requires.db.optional: expected true or false, got "perhaps"`},
		{"extra-bindings is a list", meta("extra-bindings: [a]"), "metadata.yaml:2: extra-bindings: expected a map, got a list"},
		{"an unknown type of resource", meta("resources:", "  r: {type: image}"), `metadata.yaml:3: resources.r.type: unknown resource type "image", expected file or oci-image`},
		{"a resource without a file name", meta("resources:", "  r: {type: file}"), "metadata.yaml:3: resources.r: no filename"},
		{"a resource's file name could leave its directory", meta("resources:", "  r: {type: file, filename: ../x}"), `metadata.yaml:3: resources.r.filename: expected the name of a file, without a path, got "../x"`},
		{"a resource's name could leave its directory", meta("resources:", "  ../r: {type: oci-image}"), `metadata.yaml:3: resources.../r: invalid resource name "../r"`},
		{"a resource is a word", meta("resources:", "  r: file"), `metadata.yaml:3: resources.r: expected a map, got "file"`},
		{"resources is a word", meta("resources: r"), `metadata.yaml:2: resources: expected a map, got "r"`},
	}
}

func badStorage() []bad {
	return []bad{
		{"storage is a list", meta("storage: [data]"), "metadata.yaml:2: storage: expected a map, got a list"},
		{"a store is a word", meta("storage:", "  data: block"), `metadata.yaml:3: storage.data: expected a map, got "block"`},
		{"a store has no type", meta("storage:", "  data:"), `metadata.yaml:3: storage.data.type: unknown storage type "", expected filesystem or block`},
		{"an unknown type of storage", meta("storage:", "  data: {type: tape}"), `metadata.yaml:3: storage.data.type: unknown storage type "tape", expected filesystem or block`},
		{"a store's name has an underscore", meta("storage:", "  my_data: {type: block}"), `metadata.yaml:3: storage.my_data: invalid storage name "my_data"`},
		{"multiple is a number", meta("storage:", "  data: {type: block, multiple: 2}"), "metadata.yaml:3: storage.data.multiple: expected a map, got 2"},
		{"a range is a word", meta("storage:", "  data: {type: block, multiple: {range: many}}"), `metadata.yaml:3: storage.data.multiple.range: invalid count range "many"`},
		{"a range is a map", meta("storage:", "  data: {type: block, multiple: {range: {a: b}}}"), "metadata.yaml:3: storage.data.multiple.range: expected a count or a range of counts, got a map"},
		{"a range goes down", meta("storage:", "  data: {type: block, multiple: {range: 3-1}}"), `metadata.yaml:3: storage.data.multiple.range: invalid count range "3-1"`},
		{"a range is below zero", meta("storage:", "  data: {type: block, multiple: {range: -1}}"), `metadata.yaml:3: storage.data.multiple.range: invalid count range "-1"`},
		{"a range is of nothing", meta("storage:", "  data: {type: block, multiple: {range: 0}}"), `metadata.yaml:3: storage.data.multiple.range: invalid count range "0": no storage at all`},
		{"a size is a word", meta("storage:", "  data: {type: block, minimum-size: big}"), `metadata.yaml:3: storage.data.minimum-size: expected a size such as 512M or 1.5G, got "big"`},
		{"read-only is a word", meta("storage:", "  data: {type: block, read-only: soon}"), `metadata.yaml:3: storage.data.read-only: expected true or false, got "soon"`},
		{"a location is a number", meta("storage:", "  data: {type: block, location: 1}"), "metadata.yaml:3: storage.data.location: expected text, got 1"},
	}
}

func badConfig() []bad {
	return []bad{
		{"an unknown type of option", config("port: {type: integer}"), `config.yaml:2: options.port.type: unknown type "integer", expected one of boolean, float, int, secret, string`},
		{"the same in charmcraft.yaml", files{"charmcraft.yaml": "name: a\nconfig:\n  options:\n    port:\n      type: integer"}, `charmcraft.yaml:5: config.options.port.type: unknown type "integer", expected one of boolean, float, int, secret, string`},
		{"a type is a number", config("port: {type: 1}"), "config.yaml:2: options.port.type: expected text, got 1"},
		{"the options are a list", config("- port"), "config.yaml:2: options: expected a map, got a list"},
		{"an option is a word", config("port: int"), `config.yaml:2: options.port: expected a map, got "int"`},
		{"a description is a number", config("port: {description: 1}"), "config.yaml:2: options.port.description: expected text, got 1"},
		{"a word for an int", config("port:", "  type: int", "  default: http"), `config.yaml:4: options.port.default: expected int, got "http"`},
		{"half for an int", config("port: {type: int, default: 1.5}"), "config.yaml:2: options.port.default: expected int, got 1.5"},
		{"too large for an int", config("port: {type: int, default: 18446744073709551615}"), "config.yaml:2: options.port.default: expected int, got 18446744073709551615"},
		{"a number for a string", config("title: {type: string, default: 8080}"), "config.yaml:2: options.title.default: expected string, got 8080"},
		{"true for a string", config("title: {default: true}"), "config.yaml:2: options.title.default: expected string, got true"},
		{"a word for a boolean", config("debug: {type: boolean, default: maybe}"), `config.yaml:2: options.debug.default: expected boolean, got "maybe"`},
		{"a quoted yes for a boolean", config(`debug: {type: boolean, default: "yes"}`), `config.yaml:2: options.debug.default: expected boolean, got "yes"`},
		{"a word for a float", config("ratio: {type: float, default: half}"), `config.yaml:2: options.ratio.default: expected float, got "half"`},
		{"an infinite float", config("ratio: {type: float, default: .inf}"), "config.yaml:2: options.ratio.default: cannot be said in JSON: json: unsupported value: +Inf"},
		{"a list as default", config("title: {default: [a]}"), "config.yaml:2: options.title.default: expected string, got a list"},
		{"a number for a secret", config("key: {type: secret, default: 1}"), "config.yaml:2: options.key.default: expected secret, got 1"},
		{"a long default is shown short", config("port: {type: int, default: " + strings.Repeat("é", 100) + "}"), `config.yaml:2: options.port.default: expected int, got "éééééééééééééééééééééééééééééééééééééééé…"`},
		{"a value doesn't fit its tag", config("port: {type: int, default: !!int x}"), "config.yaml:2: options.port.default: cannot read the value x"},
	}
}

func badActions() []bad {
	return []bad{
		{"an action's name has capitals", actions("Backup: {}"), `actions.yaml:1: Backup: invalid action name "Backup"`},
		{"an action's name begins with juju-", actions("juju-run: {}"), `actions.yaml:1: juju-run: invalid action name "juju-run"`},
		{"an action's name could leave its directory", actions("../x: {}"), `actions.yaml:1: ../x: invalid action name "../x"`},
		{"an action is a word", actions("backup: yes"), `actions.yaml:1: backup: expected a map, got "yes"`},
		{"a description is a list", actions("backup: {description: [a]}"), "actions.yaml:1: backup.description: expected text, got a list"},
		{"the parameters are a list", actions("backup:", "  params: [to]"), "actions.yaml:2: backup.params: expected a map, got a list"},
		{"a parameter is a word", actions("backup:", "  params:", "    to: string"), `actions.yaml:3: backup.params.to: expected a map, the parameter's schema, got "string"`},
		{"a parameter has what JSON hasn't", actions("backup:", "  params:", "    to: {minimum: .nan}"), "actions.yaml:3: backup.params.to: cannot be said in JSON: json: unsupported value: NaN"},
		{"required is a word", actions("backup:", "  required: to"), `actions.yaml:2: backup.required: expected a list, got "to"`},
		{"required is a list of numbers", actions("backup:", "  required:", "  - to", "  - 1"), "actions.yaml:4: backup.required: expected text, got 1"},
		{"additionalProperties is a word", actions("backup: {additionalProperties: none}"), `actions.yaml:1: backup.additionalProperties: expected true, false or a map, got "none"`},
		{"the same in charmcraft.yaml", files{"charmcraft.yaml": "name: a\nactions: {Backup: }"}, `charmcraft.yaml:2: actions.Backup: invalid action name "Backup"`},
	}
}

// TestReadingIsBounded: files made to take the square of their size, or more,
// are refused in the time that a large file takes.
func TestReadingIsBounded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text string }{
		{"aliases of aliases", "name: a\n" + growing()},
		{"a long text that is referred to often", "name: a\nx: &x " + strings.Repeat("a", 1<<20) + "\ny: [" + strings.Repeat("*x, ", 40_000) + "]"},
		{"maps that merge maps that merge maps", "name: a\nx: " + strings.Repeat("{<<: ", 400) + "{" + keys(40_000) + "}" + strings.Repeat("}", 400)},
		{"a map that is merged often", "name: a\nx: &x {" + keys(1000) + "}\ny: {<<: [" + strings.Repeat("*x, ", 90_000) + "]}"},
		{"lists in lists", "name: a\nx: " + strings.Repeat("[", maxMetadata/2)},
		{"maps in maps", "name: a\nx: " + strings.Repeat("{a: ", maxMetadata/5)},
		{"lists in lists by dashes", "name: a\nx:\n " + strings.Repeat("- ", maxMetadata/3)},
		{"questions", "name: a\nx:\n " + strings.Repeat("? ", maxMetadata/3)},
		{"more values than any charm has", "name: a\nx: [" + strings.Repeat("a,", maxNodes) + "]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := files{"metadata.yaml": row.text}.dir(t)
			start := time.Now()
			_, err := Read(in)
			if !errors.Is(err, errors.NotValid) || len(err.Error()) > 500 {
				t.Errorf("got %.500v", err)
			}
			if took := time.Since(start); took > 5*time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

// growing is lines of which each doubles what the one before stands for.
func growing() string {
	var b strings.Builder
	b.WriteString("x0: &x0 [a, a]\n")
	for i := range 40 {
		b.WriteString(strings.NewReplacer("N", strconv.Itoa(i+1), "M", strconv.Itoa(i)).Replace("xN: &xN [*xM, *xM]\n"))
	}
	return b.String()
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strconv.Itoa(i) + ": 1, ")
	}
	return b.String()
}

// TestATreeThatIsNoCharmIsNotSearched: it may be a whole disk, with anything
// in it.
func TestATreeThatIsNoCharmIsNotSearched(t *testing.T) {
	t.Parallel()
	dir := files{"deep/": ""}.dir(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, "deep", "p"), 0o644))
	_, err := Read(dir)
	checkRefused(t, err, "cannot read charm "+dir+": it has no metadata.yaml and no charmcraft.yaml")
}

func TestALongPathIsShownInWholeCharacters(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		strings.Repeat("a", 199) + "éé":   `"` + strings.Repeat("a", 199) + `…"`,
		strings.Repeat("a", 200) + "é":    `"` + strings.Repeat("a", 200) + `…"`,
		strings.Repeat("a", 196) + "😀😀":   `"` + strings.Repeat("a", 196) + `😀…"`,
		strings.Repeat("a", 197) + "😀😀":   `"` + strings.Repeat("a", 197) + `…"`,
		strings.Repeat("\x80", 204) + "a": `"` + strings.Repeat(`\x80`, 196) + `…"`,
	} {
		if got := quote(path); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}
