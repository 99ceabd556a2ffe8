package recording

import (
	"bytes"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/unitd/unitd/pattern"
)

// fileArg is where the value of --file is among the arguments of a tool: in
// Args[i] from position at on. It is false where there is no such argument, or
// where it names standard input.
func fileArg(args []string) (i, at int, ok bool) {
	const flag = "--file"
	for i, a := range args {
		value, after := strings.CutPrefix(a, flag+"=")
		switch {
		case i == 0:
		case a == "--":
			return 0, 0, false
		case after:
			return i, len(flag) + 1, value != "" && value != "-"
		case a == flag && i+1 < len(args):
			return i + 1, 0, args[i+1] != "" && args[i+1] != "-"
		}
	}
	return 0, 0, false
}

// asStdin is the call with what it has read from a file as its standard input:
// what it was matters, and not how a temporary file was called.
func asStdin(c Call) Call {
	i, at, ok := fileArg(c.Args)
	if !ok || c.File == nil {
		return c
	}
	args := append([]string(nil), c.Args...)
	args[i] = args[i][:at] + "-"
	c.Args, c.StdinSet, c.Stdin, c.File = args, true, c.File, nil
	return c
}

// changing is what is never the same twice in a log message: times, and where
// in memory an object is.
var changing = pattern.New(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b0x[0-9a-f]{6,}\b`)

// pathArg is the argument of a tool that writes secrets as far as it is to be the
// same, if it says in which file the value is: Ops makes one with a name of
// chance.
func pathArg(tool, arg string) (same string, names bool) {
	const mark = "#file"
	key, _, ok := strings.Cut(arg, "=")
	if !ok || tool != "secret-add" && tool != "secret-set" || !strings.HasSuffix(key, mark) {
		return arg, false
	}
	return key + "=*", true
}

// sayable is an argument as far as it is to be the same: of what is logged, all
// but what is never the same; and whichever file a secret is in.
func sayable(tool, arg string) string {
	if same, names := pathArg(tool, arg); names {
		return same
	}
	if tool != "juju-log" && tool != "action-log" {
		return arg
	}
	return changing.Regexp().ReplaceAllString(arg, "*")
}

// bindings are the values that placeholders of secrets have in a replay. A
// value that the charm was told is the placeholder itself; one that the charm
// has made is bound when it is first written.
type bindings struct {
	max    int // the last placeholder's number
	values map[string]string
}

// same says whether an actual call is the recorded one, and binds what it has
// in the place of placeholders if so.
func (b *bindings) same(recorded, actual Call) bool {
	recorded, actual = asStdin(recorded), asStdin(actual)
	if len(recorded.Args) != len(actual.Args) || recorded.StdinSet != actual.StdinSet {
		return false
	}
	bound := maps.Clone(b.values)
	for i, arg := range recorded.Args {
		if !b.sameText(bound, sayable(recorded.Args[0], arg), sayable(actual.Args[0], actual.Args[i])) {
			return false
		}
	}
	if !bytes.Equal(recorded.Stdin, actual.Stdin) && !b.sameText(bound, string(recorded.Stdin), string(actual.Stdin)) {
		return false
	}
	b.values = bound
	return true
}

// mine says whether a placeholder is one of the recording.
func (b *bindings) mine(name string) bool {
	digits := strings.TrimRight(strings.TrimPrefix(name, "redacted-"), "x")
	n, err := strconv.Atoi(digits)
	return err == nil && n <= b.max
}

func (b *bindings) sameText(bound map[string]string, recorded, actual string) bool {
	if recorded == actual {
		b.noteTold(bound, recorded)
		return true
	}
	at, order := 0, []string{}
	var expr strings.Builder
	for _, m := range placeholder.Regexp().FindAllStringIndex(recorded, -1) {
		name := recorded[m[0]:m[1]]
		if !b.mine(name) {
			continue
		}
		expr.WriteString(regexp.QuoteMeta(recorded[at:m[0]]))
		if value, ok := bound[name]; ok {
			expr.WriteString(regexp.QuoteMeta(value))
		} else {
			expr.WriteString(`(.+?)`)
			order = append(order, name)
		}
		at = m[1]
	}
	if at == 0 {
		return false
	}
	expr.WriteString(regexp.QuoteMeta(recorded[at:]))
	re, err := regexp.Compile(`(?s)\A` + expr.String() + `\z`)
	if err != nil {
		return false
	}
	found := re.FindStringSubmatch(actual)
	if found == nil {
		return false
	}
	for i, name := range order {
		if value, ok := bound[name]; ok && value != found[i+1] {
			return false
		}
		bound[name] = found[i+1]
	}
	return true
}

// noteTold binds the placeholders in text to themselves: the charm has them.
func (b *bindings) noteTold(bound map[string]string, text string) {
	if b.max == 0 {
		return
	}
	for _, name := range placeholder.Regexp().FindAllString(text, -1) {
		if _, ok := bound[name]; !ok && b.mine(name) {
			bound[name] = name
		}
	}
}

// tell is an answer as the charm gets it: with the values that it has made
// itself.
func (b *bindings) tell(text []byte) []byte {
	if b.max == 0 || len(text) == 0 {
		return text
	}
	b.noteTold(b.values, string(text))
	return placeholder.Regexp().ReplaceAllFunc(text, func(name []byte) []byte {
		if value, ok := b.values[string(name)]; ok {
			return []byte(value)
		}
		return name
	})
}
