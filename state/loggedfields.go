package state

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// maxLoggedValue is how much of a value is kept, in bytes.
const maxLoggedValue = 400

// loggedDoc says what a kind of documents is to people.
type loggedDoc struct {
	noun string
	// named is the field of the document that it is called by; empty: what is in the key after
	// the kind.
	named string
	// part: it is a part of something else, so that it is neither added nor removed. below is the
	// field in which that is what people set; empty: the document itself.
	part  bool
	below string
	// as is the field that the document itself, or what is below, is told as, which isn't a set
	// of fields. later: only another one that comes in its place is told, not the first.
	as    string
	later bool
	// whole: each field of a new document is told, not just that it is there.
	whole bool
	// ages: documents go as they get old, in transactions about others.
	ages bool
	// only are the fields that people change; nil: all but those of except, which count, or
	// are agents'. Fields of one value are those whose fields are not told one by one.
	only, except, values []string
}

// loggedKinds are the kinds of documents that people change by commands. All others are
// indexes, counts, and what agents write.
var loggedKinds = map[string]loggedDoc{
	"app": {noun: "application", except: []string{
		"units", "relations", "offers", "next-unit", "token", "secrets", "given", "id", "status-set", "former", "kept", "pod-template",
	}},
	"config":            {noun: "application", part: true, below: "values", whole: true},
	"unit":              {noun: "unit", only: []string{"life", "force", "resolved", "storage-fate"}, values: []string{"resolved"}},
	"machine":           {noun: "machine", only: []string{"life", "constraints", "annotations"}},
	"relation":          {noun: "relation", named: "key", only: []string{"life", "force", "suspended", "suspended-message"}},
	"offer":             {noun: "offer", except: []string{"relations", "id", "created"}},
	"saas":              {noun: "SAAS", except: []string{"relations", "offer-id", "model", "external", "seen"}},
	"storage":           {noun: "storage", only: []string{"life", "unit", "released"}},
	"attachment":        {noun: "attached storage", named: "storage", only: []string{"life"}},
	"storage-pool":      {noun: "storage pool"},
	"secret":            {noun: "secret", whole: true, only: []string{"label", "description", "rotate", "auto-prune", "grants"}},
	"secret-content":    {noun: "secret"}, // see loggedSecret
	"space":             {noun: "space", except: []string{"id"}},
	"operation":         {noun: "operation", only: []string{"summary", "fail"}, whole: true, ages: true},
	"task":              {noun: "task", only: []string{"status"}, ages: true},
	modelConfigKey:      {noun: "model", part: true, whole: true},
	modelConstraintsKey: {noun: "model", part: true, as: "constraints"},
	sshKeysKey:          {noun: "model", part: true, as: "ssh-keys"},
	entryKind:           {noun: "model", only: []string{"life", "storage-fate"}},
	restoredKey:         {noun: "model", part: true, below: "taken", as: "restored from the backup of"},
	sealingKey:          {noun: "model", part: true, below: "key", as: "sealed with", later: true},
}

// loggedFields says what is different between two documents at a key; nil: there is none.
func loggedFields(key string, before, after []byte) ([]LoggedField, error) {
	kind, rest := splitKey(key)
	of := loggedKinds[kind]
	f := LoggedField{Kind: of.noun, Name: rest}
	if kind == "secret-content" {
		return loggedSecret(f, before, after), nil
	}
	was, err := looseDoc(before)
	if err != nil {
		return nil, errors.Trace(err)
	}
	is, err := looseDoc(after)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if of.named != "" {
		f.Name = nameIn(of.named, was, is, rest)
	}
	if of.as != "" {
		if of.later && before == nil {
			return nil, nil
		}
		if of.below != "" {
			was, is = below(was, of.below), below(is, of.below)
		}
		f.Field = of.as
		return f.between(was, is), nil
	}
	switch {
	case after == nil && (before == nil || of.ages), isPod(was), isPod(is):
		return nil, nil
	case after == nil && !of.part:
		f.Did = DidRemove
		return []LoggedField{f}, nil
	}
	var all []LoggedField
	if before == nil && !of.part {
		f.Did = DidAdd
		all = append(all, f)
		if !of.whole {
			return all, nil
		}
	}
	if of.below != "" {
		was, is = below(was, of.below), below(is, of.below)
	}
	return append(all, f.differences(of, "", was, is)...), nil
}

// isPod says whether a document is that of a machine that stands for a pod, which people don't see.
func isPod(doc any) bool { return below(doc, "pod") == true }

// loggedSecret tells of a revision of a secret without what is in it.
func loggedSecret(f LoggedField, before, after []byte) []LoggedField {
	var revision string
	f.Name, revision = splitKey(f.Name)
	switch {
	case before == nil && after != nil:
		f.Did = DidAdd
	case before != nil && after == nil:
		f.Did = DidRemove
	default:
		return nil // it was sealed anew
	}
	f.Field = "revision " + revision
	return []LoggedField{f}
}

// differences are those fields, by their names, in which two values differ; path is that of
// the values in their document.
func (f LoggedField) differences(of loggedDoc, path string, was, is any) []LoggedField {
	a, aFields := was.(map[string]any)
	b, bFields := is.(map[string]any)
	if slices.Contains(of.values, path) || path != "" && (!aFields || !bFields) && !(aFields && is == nil) && !(bFields && was == nil) {
		f.Field = path
		return f.between(was, is)
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	var all []LoggedField
	for _, name := range slices.Compact(names) {
		whole := name
		if path != "" {
			whole = path + "." + name
		}
		if of.tells(whole) {
			all = append(all, f.differences(of, whole, a[name], b[name])...)
		}
	}
	return all
}

// tells says whether people are told of a field, or may be of one below it.
func (of loggedDoc) tells(path string) bool {
	if strings.HasPrefix(path, "resources.") && (strings.HasSuffix(path, ".password") || strings.HasSuffix(path, ".given")) {
		return false // what is sealed, and when
	}
	if of.only == nil {
		return !slices.Contains(of.except, path)
	}
	return slices.ContainsFunc(of.only, func(field string) bool {
		return field == path || strings.HasPrefix(field, path+".") || strings.HasPrefix(path, field+".")
	})
}

// between is the field, which had one value and has another.
func (f LoggedField) between(was, is any) []LoggedField {
	if reflect.DeepEqual(was, is) {
		return nil
	}
	if word := loggedWords[f.Field]; word != nil {
		was, is = inWords(was, word), inWords(is, word)
	}
	f.Did = DidSet
	f.Before, f.After = excerpts(discreetText(f.Field, was), discreetText(f.Field, is))
	return []LoggedField{f}
}

// discreetText is a value as JSON, without what looks like a secret.
func discreetText(field string, v any) string {
	if s, ok := v.(string); ok {
		return valueText(model.Discreet(field, s))
	}
	return model.Discreet(field, valueText(v))
}

// excerpts are two values, cut where they are long, so that something of what differs is seen.
func excerpts(was, is string) (string, string) {
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	from := 0
	if same > maxLoggedValue/2 && max(len(was), len(is)) > maxLoggedValue {
		from = same - maxLoggedValue/4
	}
	return excerpt(was, from), excerpt(is, from)
}

func excerpt(s string, from int) string {
	if s == "" {
		return ""
	}
	before, after := "", ""
	if from > 0 {
		s, before = s[from:], "…"
	}
	if len(s) > maxLoggedValue {
		s, after = s[:maxLoggedValue], "…"
	}
	return before + strings.ToValidUTF8(s, "") + after
}

// loggedWords are the fields that documents have as numbers, and people by their words.
var loggedWords = map[string]func(n int) string{
	"life":  func(n int) string { return model.Life(n).String() },
	"force": func(n int) string { return [...]string{"", "force", "force, no wait"}[min(max(n, 0), int(Abandon))] },
}

// inWords is a number by its word; anything else is as it is.
func inWords(v any, word func(int) string) any {
	if number, ok := v.(json.Number); ok {
		if n, err := strconv.Atoi(number.String()); err == nil {
			return word(n)
		}
	}
	return v
}

// looseDoc is a document of whatever form; nil: there is none.
func looseDoc(text []byte) (doc any, err error) {
	if text == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return doc, errors.Trace(d.Decode(&doc))
}

func below(doc any, field string) any {
	fields, _ := doc.(map[string]any)
	return fields[field]
}

// nameIn is what a document is called by its field, the newer one first.
func nameIn(field string, was, is any, otherwise string) string {
	for _, doc := range []any{is, was} {
		if name, ok := below(doc, field).(string); ok {
			return name
		}
	}
	return otherwise
}

// valueText is a value as JSON; empty: there is none.
func valueText(v any) string {
	if v == nil {
		return ""
	}
	text, err := model.EncodeJSON(v)
	if err != nil {
		return "" // it came out of JSON
	}
	return strings.TrimRight(string(text), "\n")
}
