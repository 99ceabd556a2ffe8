package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/unitd/unitd/pattern"
)

// Redact is the recording without what looks like a secret: the values of keys
// such as password or token, in options, databags, state, settings and
// key=value arguments, in JSON and YAML, and those in URLs; and private keys.
// Each is replaced wherever it is by a placeholder, the same one for the same
// value, so that what the charm compares compares as before.
//
// The URI of a secret is none, and what is a name of the model is left in
// whatever key it is the value of: it would be taken out of paths and of all that
// names it. named says of more values than the recording tells whether they are
// such names; nil: of none.
func Redact(r *Recording, named func(value string) bool) *Recording {
	return redact(r, secretsOf(r, named))
}

// Secret is a value that is known to be one, with its key.
type Secret struct{ Key, Value string }

// Hide is the recording without values that are known to be secrets, each
// replaced as by Redact, which may still be used on it.
func Hide(r *Recording, values []Secret) *Recording {
	found := &secrets{seen: map[pair]bool{}}
	for _, v := range values {
		found.add(v.Key, v.Value)
	}
	return redact(r, found)
}

func redact(r *Recording, found *secrets) *Recording {
	out := r.clone()
	names := placeholders(r, len(found.values)+len(found.short))
	out.Redacted = names.last
	if out.State, out.StateNote = redactState(r.State, found, names); out.State == nil && out.StateNote == "" {
		out.StateNote = r.StateNote
	}
	d := newRedactor(found, names)
	for i, v := range out.Env {
		out.Env[i] = d.text(v)
	}
	for i, c := range out.Calls {
		out.Calls[i] = d.call(c)
	}
	for i := range out.Asked {
		d.asked(&out.Asked[i])
	}
	if out.Files != nil {
		for i, f := range out.Files.Files {
			out.Files.Files[i].Path, out.Files.Files[i].Diff = d.text(f.Path), d.text(f.Diff)
		}
	}
	out.Message, out.Cause = d.text(r.Message), d.text(r.Cause)
	return out
}

// names are the placeholders of secrets.
type names struct {
	list []string
	last int // the number of the last one
}

// placeholders are n of them that the recording doesn't have yet.
func placeholders(r *Recording, n int) names {
	taken := map[string]bool{}
	note := func(text []byte) {
		for _, m := range placeholder.Regexp().FindAll(text, -1) {
			taken[string(m)] = true
		}
	}
	for _, v := range r.Env {
		note([]byte(v))
	}
	for _, c := range r.Calls {
		note([]byte(strings.Join(c.Args, " ")))
		for _, text := range [][]byte{c.Stdin, c.File, c.Stdout, c.Stderr} {
			note(text)
		}
	}
	for i := range r.Asked {
		note([]byte(r.Asked[i].Path))
		for _, c := range r.Asked[i].contents() {
			note(c.Bytes)
		}
	}
	out := names{last: r.Redacted}
	for len(out.list) < n {
		out.last++
		if name := fmt.Sprintf("redacted-%d", out.last); !taken[name] {
			out.list = append(out.list, name)
		}
	}
	return out
}

// placeholder is what stands for a secret. The x fill it up where the length
// matters.
var placeholder = pattern.New(`redacted-[1-9][0-9]*x*`)

// redactor replaces secrets.
type redactor struct {
	large []large        // the longest first
	all   *regexp.Regexp // nil: there are none
	names []string       // by the group of all
	short []shortRule
}

// large is a value that is too long for a regular expression: it is looked for as
// it is, and as JSON writes it.
type large struct {
	forms []string
	name  string
}

// largeValue is the length in bytes from which a value is large.
const largeValue = 512

func newLarge(value, name string) large {
	l := large{forms: []string{value}, name: name}
	for _, escape := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(escape)
		if enc.Encode(value) == nil {
			if form := strings.Trim(strings.TrimSpace(b.String()), `"`); !slices.Contains(l.forms, form) {
				l.forms = append(l.forms, form)
			}
		}
	}
	return l
}

// shortRule replaces a value that is too short to be looked for without its
// key.
type shortRule struct {
	pair
	beside *regexp.Regexp
	name   string
}

func newRedactor(found *secrets, placeholders names) *redactor {
	d := &redactor{}
	order := make([]int, len(found.values))
	for i := range order {
		order[i] = i
	}
	// A secret may be a part of another one.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(found.values[b]), len(found.values[a])) })
	var alternatives []string
	for _, i := range order {
		if value := found.values[i]; len(value) >= largeValue {
			d.large = append(d.large, newLarge(value, placeholders.list[i]))
			continue
		}
		alternatives = append(alternatives, "("+alternative(found.values[i])+")")
		d.names = append(d.names, placeholders.list[i])
	}
	if len(alternatives) > 0 {
		d.all = regexp.MustCompile(strings.Join(alternatives, "|"))
	}
	for i, p := range found.short {
		rule := shortRule{pair: p, name: placeholders.list[len(found.values)+i]}
		rule.beside = regexp.MustCompile(`(` + alternative(p.key) + `\\*["']?\s*[:=]\s*\\*["']?)` + alternative(p.value) + `\b`)
		d.short = append(d.short, rule)
	}
	return d
}

// wordLength is the length in bytes below which a secret isn't looked for
// inside of words.
const wordLength = 8

// alternative is a regular expression for a secret in all the ways in which JSON
// and YAML write it, also one in the other.
func alternative(secret string) string {
	var b strings.Builder
	for _, r := range secret {
		switch {
		case r == '"':
			b.WriteString(`\\*"`)
		case r == '\\':
			b.WriteString(`\\+`)
		case r == '\'':
			b.WriteString(`''?`)
		case r == '\t':
			b.WriteString(`(?:\t|\\+t)`)
		case r == ' ':
			b.WriteString(`\s+`) // YAML breaks long lines
		case r == '<' || r == '>' || r == '&':
			fmt.Fprintf(&b, `(?:%c|\\+u00%02x)`, r, r)
		case r < ' ' || r > '~':
			b.WriteString(escaped(r))
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// escaped is a character that JSON and YAML may write by its number.
func escaped(r rune) string {
	literal := regexp.QuoteMeta(string(r))
	switch {
	case r == utf8.RuneError:
		return `(?:` + literal + `|\\+u[0-9a-fA-F]{4})`
	case r > 0xffff:
		high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
		return fmt.Sprintf(`(?:%s|(?i:\\+u%04x\\+u%04x|\\+U%08x))`, literal, high, low, r)
	case r < 0x100:
		return fmt.Sprintf(`(?:%s|(?i:\\+u%04x|\\+x%02x))`, literal, r, r)
	}
	return fmt.Sprintf(`(?:%s|(?i:\\+u%04x))`, literal, r)
}

func (d *redactor) call(c Call) Call {
	c.Args = slices.Clone(c.Args)
	for _, rule := range d.short {
		if slices.Contains(c.Args, rule.key) && strings.TrimSpace(string(c.Stdout)) == rule.value {
			c.Stdout = bytes.Replace(c.Stdout, []byte(rule.value), []byte(rule.name), 1)
		}
	}
	for i, a := range c.Args {
		if i > 0 {
			c.Args[i] = d.text(a)
		}
	}
	c.Stdin, c.File, c.Stdout, c.Stderr = d.bytes(c.Stdin), d.bytes(c.File), d.bytes(c.Stdout), d.bytes(c.Stderr)
	return c
}

// bytes keeps nil apart from empty.
func (d *redactor) bytes(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	return []byte(d.text(string(b)))
}

func (d *redactor) text(s string) string {
	for _, l := range d.large {
		for _, form := range l.forms {
			s = strings.ReplaceAll(s, form, l.name)
		}
	}
	if d.all != nil {
		s = d.long(s)
	}
	for _, rule := range d.short {
		s = rule.beside.ReplaceAllString(s, "${1}"+rule.name)
	}
	return s
}

func (d *redactor) long(s string) string {
	var b strings.Builder
	at := 0 // what comes before is in b
	for from := 0; from <= len(s); {
		m := d.all.FindStringSubmatchIndex(s[from:])
		if m == nil {
			break
		}
		begin, end := from+m[0], from+m[1]
		if end-begin < wordLength && insideWord(s, begin, end) {
			from = begin + 1
			continue
		}
		for group := range d.names {
			if m[2*group+2] >= 0 {
				b.WriteString(s[at:begin] + d.names[group])
				break
			}
		}
		at, from = end, end
	}
	return b.String() + s[at:]
}

// insideWord says whether s[begin:end] is a part of a longer word. The letter of
// a JSON escape in front of it is none of it.
func insideWord(s string, begin, end int) bool {
	word := func(i int) bool {
		return i >= 0 && i < len(s) && (s[i] == '_' || '0' <= s[i] && s[i] <= '9' || 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z')
	}
	before := word(begin-1) && word(begin)
	if before && begin >= 2 && s[begin-2] == '\\' && strings.IndexByte("nrt", s[begin-1]) >= 0 {
		before = false
	}
	return before || word(end) && word(end-1)
}
