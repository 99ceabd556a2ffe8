package tools

import (
	"strings"

	"github.com/juju/errors"
)

// keyValues reads arguments of the form key=value, both trimmed of white
// space; empty arguments are skipped. Source: docs/spec/hook-tools.md §2.5.
func keyValues(args []string) (map[string]string, error) {
	out := make(map[string]string, len(args))
	for _, arg := range args {
		if arg == "" {
			continue
		}
		key, value, ok := strings.Cut(arg, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" {
			return nil, errors.Errorf(`expected "key=value", got %q`, arg)
		}
		if _, seen := out[key]; seen {
			return nil, errors.Errorf("key %q specified more than once", key)
		}
		out[key] = value
	}
	return out, nil
}

// withoutValues is a tool's argument list as it may be kept: of key=value
// arguments, only the key.
func withoutValues(t Tool, args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = arg
		key, _, ok := strings.Cut(arg, "=")
		if t.KeyValues && ok && !strings.HasPrefix(arg, "-") {
			out[i] = key + "=…"
		}
	}
	return out
}
