package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/juju/gnuflag"

	"github.com/unitd/unitd/tools/wire"
)

// The rules of docs/spec/hook-tools.md §2.6.
func TestSettingsFilesAreReadAsSourceText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		want          map[string]string
		wantErr       string
	}{
		{"nothing", "", nil, ""},
		{"null", "null", nil, ""},
		{"an empty object", "{}", map[string]string{}, ""},
		{"numbers keep their spelling in YAML", "a: 1.50\nb: 0x10\nc: 007\nd: 1e3", map[string]string{"a": "1.50", "b": "0x10", "c": "007", "d": "1e3"}, ""},
		{"numbers keep their spelling in JSON", `{"a":1.50,"b":1e3,"c":12345678901234567890}`, map[string]string{"a": "1.50", "b": "1e3", "c": "12345678901234567890"}, ""},
		{"words keep their spelling", "a: yes\nb: True\nc: 2024-01-01", map[string]string{"a": "yes", "b": "True", "c": "2024-01-01"}, ""},
		{"null is empty text", "a: null\nb: ~\nc:\n", map[string]string{"a": "", "b": "", "c": ""}, ""},
		{"null is empty text in JSON", `{"a":null,"t":true,"f":false}`, map[string]string{"a": "", "t": "true", "f": "false"}, ""},
		{"keys become text", "5: five\ntrue: t", map[string]string{"5": "five", "true": "t"}, ""},
		{"text is not trimmed", `a: "  x "`, map[string]string{"a": "  x "}, ""},
		{"of keys that repeat the last wins", "a: 1\na: 2", map[string]string{"a": "2"}, ""},
		{"of keys that repeat in JSON the last wins", `{"a":"1","a":"2"}`, map[string]string{"a": "2"}, ""},
		{"a second document is ignored", "x: y\n---\nz: w", map[string]string{"x": "y"}, ""},
		{"binary is decoded, anchors are followed", "a: !!binary aGk=\nb: &x foo\nc: *x", map[string]string{"a": "hi", "b": "foo", "c": "foo"}, ""},
		{"an emoji in JSON is a surrogate pair", `{"a":"\ud83d\ude00"}`, map[string]string{"a": "😀"}, ""},
		{"JSON with a comma too many is YAML", `{"a": "b",}`, map[string]string{"a": "b"}, ""},
		{"the replacement character can be meant", `{"a":"\uFFFD","b":"�"}`, map[string]string{"a": "�", "b": "�"}, ""},
		{"half a surrogate pair is refused", `{"a":"\ud83d"}`, nil, "yaml: found invalid Unicode character escape code"},
		{"a list as a value is refused", `{"a":["b"]}`, nil, "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into string"},
		{"a map as a value is refused", "m: {x: 1}", nil, "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!map into string"},
		{"text is refused", "plain", nil, "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `plain` into map[string]string"},
		{"broken YAML is refused", "\ttab: x", nil, "yaml: found character that cannot start any token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseSettings([]byte(c.content))
			mustBe(t, "error", errText(err), c.wantErr)
			if !maps.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSettingsFilesAreFoundWhereTheCallerMeans(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	for path, content := range map[string]string{dir + "/here": "a: here", home + "/there": "a: there"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, want, wantErr string }{
		{"here", "here", ""},
		{dir + "/here", "here", ""},
		{"../" + filepath.Base(dir) + "/here", "here", ""},
		{"~/there", "there", ""},
		{"/nosuch", "", "open /nosuch: no such file or directory"},
		{".", "", "open " + dir + ": not a regular file"},
	} {
		got, err := settingsFile(&call{open: os.OpenFile, dir: dir}, c.path)
		mustBe(t, c.path, got["a"], c.want)
		mustBe(t, c.path, errText(err), c.wantErr)
	}
}

func TestKeyValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		args    []string
		want    map[string]string
		wantErr string
	}{
		{"the first equals sign splits, and both sides are trimmed", []string{" a = b=c ", "", "e="}, map[string]string{"a": "b=c", "e": ""}, ""},
		{"there must be an equals sign", []string{"a"}, nil, `expected "key=value", got "a"`},
		{"there must be a key", []string{" =b"}, nil, `expected "key=value", got " =b"`},
		{"a key comes once", []string{"a=1", "a =2"}, nil, `key "a" specified more than once`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := keyValues(c.args)
			mustBe(t, "error", errText(err), c.wantErr)
			if !maps.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzSettings(f *testing.F) {
	for _, s := range []string{"a: 1", `{"a":"\ud83d\ude00"}`, "- x", "a: &x [*x]", "\xff", `{"a":1e999}`, "? a\n: b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := parseSettings(content)
		if err != nil && got != nil {
			t.Errorf("both %q and %v", got, err)
		}
	})
}

func FuzzKeyValues(f *testing.F) {
	f.Add("a=b", "c = d")
	f.Add("=", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := keyValues([]string{a, b})
		if _, ok := got[""]; ok || err != nil && got != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// FuzzFlags lets arguments loose on every tool: whatever they are, the reply
// is one of the contract's shapes.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{"-aofile", "--", "--=x", "--format", "-r=3", "--help", "-", "-h=", "--app=maybe", "\xff", "-é"} {
		f.Add(s, "a=b", "--all")
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		hook := hookOf(newMemory(), relationHook())
		for _, tool := range Table() {
			if writesFile(hookFlags(tool), []string{a, b, c}) {
				continue
			}
			reply := Run(hook, wire.Request{Dir: "/nosuch", Args: []string{tool.Name, a, b, c}})
			if reply.Code < wire.NeedStdin || reply.Code > exitUsage || reply.Code > 0 && len(reply.Stdout) > 0 {
				t.Errorf("%s %q %q %q: %+v", tool.Name, a, b, c, reply)
			}
		}
	})
}

func hookFlags(tool Tool) *flags {
	c := hookOf(newMemory(), relationHook())
	f := newFlags(tool.Name, c)
	tool.make(c).declare(f)
	return f
}

// writesFile says whether the arguments name a file to write, which a fuzzer
// had better not choose.
func writesFile(f *flags, args []string) bool {
	_, _ = f.parse(args)
	written := false
	f.Visit(func(flag *gnuflag.Flag) { written = written || flag.Name == "o" || flag.Name == "output" })
	return written
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprint(err)
}

// FuzzRelationIDs: what names a relation is the number after its last colon, and
// names one that the unit is in.
func FuzzRelationIDs(f *testing.F) {
	for _, s := range []string{"3", "db:3", "x:y:3", ":3", "db:", "", "99", "-1", "+3", "03", "3 ", "9999999999999999999", "\xff:3", "db:3:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		reply := Run(hookOf(newMemory(), plainHook()), wire.Request{Dir: "/", Args: []string{"relation-list", "-r", s}})
		n, err := strconv.Atoi(s[strings.LastIndex(s, ":")+1:])
		want := exitUsage
		if err == nil && n == 3 {
			want = exitOK
		}
		if reply.Code != want || reply.Code != 0 && !strings.HasPrefix(string(reply.Stderr), "ERROR invalid value ") {
			t.Errorf("%q: %d %q", s, reply.Code, reply.Stderr)
		}
	})
}

// FuzzBatch: each call that was made has a line that can be read.
func FuzzBatch(f *testing.F) {
	for _, s := range []string{
		`["config-get","title"]`, `{"args":["state-set","--file","-"],"stdin":"a: 1"}`, "[]", "{}", "null", `["unitd-batch"]`,
		"[\"is-leader\"]\n\n[\"nosuch\"]\n[\"config-get\"]", `[1]`, "\xff", `{"args":["a"]} {"args":["b"]}`, `["config-get","\ud83d"]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, calls []byte) {
		if bytes.Contains(calls, []byte("-o")) {
			return // it would write files
		}
		reply := Run(hookOf(newMemory(), plainHook()), wire.Request{Dir: "/nosuch", Args: []string{"unitd-batch"}, StdinSet: true, Stdin: calls})
		if reply.Code == exitUsage && len(reply.Stdout) > 0 {
			t.Errorf("%q: both %q and %q", calls, reply.Stdout, reply.Stderr)
		}
		for line := range bytes.Lines(reply.Stdout) {
			if a := (answered{}); json.Unmarshal(line, &a) != nil {
				t.Errorf("%q: %q", calls, line)
			}
		}
	})
}

// FuzzSecretArgs: what is taken apart has a key that is one, and no value that
// is lost.
func FuzzSecretArgs(f *testing.F) {
	for _, s := range []string{"token=a", "token=", "token==", "token=a=b==", "token#base64=YQ==", "token#file=/x", "#file=x", "to=a", "\xff=\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parseSecretArg(s)
		if err == nil && (a.key == "" || !strings.HasPrefix(s, a.key) || !strings.HasSuffix(s, "="+a.value)) {
			t.Errorf("%q: %+v", s, a)
		}
	})
}
