package tools

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unitd/unitd/tools/wire"
)

// The table of docs/spec/hook-tools.md §3.
func TestEachFormatWritesEachKindOfValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		value             any
		smart, yaml, json string
	}{
		{"none", nil, "", "", "null\n"},
		{"text", "abc", "abc\n", "abc\n", "\"abc\"\n"},
		{"empty text", "", "", "\"\"\n", "\"\"\n"},
		{"text that looks like a number", "123", "123\n", "\"123\"\n", "\"123\"\n"},
		{"text that ends a line gets one more", "a\nb\n", "a\nb\n\n", "|\n  a\n  b\n", "\"a\\nb\\n\"\n"},
		{"true", true, "True\n", "true\n", "true\n"},
		{"false", false, "False\n", "false\n", "false\n"},
		{"a whole number", int64(8080), "8080\n", "8080\n", "8080\n"},
		{"a large whole number stays plain", int64(1234567), "1234567\n", "1234567\n", "1234567\n"},
		{"a large float", 1000000.0, "1e+06\n", "1e+06\n", "1000000\n"},
		{"an empty list", []string{}, "", "[]\n", "[]\n"},
		{"a list", []string{"a", "b"}, "a\nb\n", "- a\n- b\n", "[\"a\",\"b\"]\n"},
		{"an empty map", map[string]string{}, "{}\n", "{}\n", "{}\n"},
		{"a map is YAML for shells, too", map[string]string{"port": "5432"}, "port: \"5432\"\n", "port: \"5432\"\n", "{\"port\":\"5432\"}\n"},
		{"JSON has its angle brackets and separators escaped", "<&\u2028>", "<&\u2028>\n", "'<&\u2028  >'\n", "\"\\u003c\\u0026\\u2028\\u003e\"\n"},
		{"JSON replaces what is no UTF-8", "a\xffb", "a\xffb\n", "!!binary Yf9i\n", "\"a\\ufffdb\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for format, want := range map[string]string{smart: c.smart, inYAML: c.yaml, inJSON: c.json} {
				got, err := formatted(format, c.value)
				if err != nil {
					t.Fatal(err)
				}
				mustBe(t, format, string(got), want)
			}
		})
	}
}

func TestOutputGoesToAFileOfTheCallersDirectory(t *testing.T) {
	t.Parallel()
	c := hookOf(newMemory(), plainHook())
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	if err := os.WriteFile(out, []byte("something longer that was there"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-o", "out"}, {"--output=out"}, {"-oout"}, {"--output", out}} {
		reply := Run(c, wire.Request{Dir: dir, Args: append([]string{"config-get", "title"}, args...)})
		mustBe(t, "exit code", reply.Code, 0)
		mustBe(t, "stdout", string(reply.Stdout), "")
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		mustBe(t, "file", string(got), "My Title\n")
	}
	reply := Run(c, wire.Request{Dir: dir, Args: []string{"config-get", "title", "-o", "no/such"}})
	mustBe(t, "exit code", reply.Code, 1)
	mustBe(t, "stderr", string(reply.Stderr), "ERROR open "+dir+"/no/such: no such file or directory\n")
}

func TestTheAgentNeverWaitsForAPipe(t *testing.T) {
	t.Parallel()
	c := hookOf(newMemory(), plainHook())
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"state-set", "--file", "pipe"}, {"config-get", "-o", "pipe"}} {
		reply := Run(c, wire.Request{Dir: dir, Args: args})
		mustBe(t, "exit code", reply.Code, 1)
		if !strings.HasPrefix(string(reply.Stderr), "ERROR open "+dir+"/pipe: ") {
			t.Errorf("%q: stderr %q", args, reply.Stderr)
		}
	}
	reply := Run(c, wire.Request{Dir: dir, Args: []string{"config-get", "-o", "/dev/null"}})
	mustBe(t, "exit code for /dev/null", reply.Code, 0)
}
