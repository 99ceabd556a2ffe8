package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/unitd/unitd/pattern"
)

// Where says in which databags a stub publishes a key.
type Where string

// The databags of a stub. Both is for what isn't known to be in one alone.
const (
	Both    Where = ""
	UnitBag Where = "unit"
	AppBag  Where = "app"
)

// Source is who has said that a stub publishes a key.
type Source string

// The sources, the most credible first.
const (
	Recorded  Source = "recording"
	Partnered Source = "partner"
	Schemed   Source = "schema"
	Asked     Source = "asked"
	Guessed   Source = "guess"
)

// Sources are all of them, the most credible first.
func Sources() []Source { return []Source{Recorded, Partnered, Schemed, Asked, Guessed} }

// Origin is how many keys of an endpoint's stub are from a source; Keys is 0 for a stub that
// publishes nothing.
type Origin struct {
	Endpoint string `json:"endpoint"`
	Source   Source `json:"source,omitempty"`
	Keys     int    `json:"keys"`
}

// origins says of each endpoint where its keys are from.
func (w World) origins() (all []Origin) {
	for _, e := range w.Endpoints {
		before := len(all)
		for _, from := range Sources() {
			names := map[string]bool{}
			for _, k := range e.Keys {
				if k.From == from {
					names[k.Name] = true
				}
			}
			if len(names) > 0 {
				all = append(all, Origin{e.Name, from, len(names)})
			}
		}
		if len(all) == before {
			all = append(all, Origin{Endpoint: e.Name})
		}
	}
	return all
}

// Text says it for people: "its schema (2 keys)".
func (o Origin) Text() string {
	if o.Keys == 0 {
		return "nothing published"
	}
	words := map[Source]string{Recorded: "a recording", Partnered: "its partner", Schemed: "its schema", Asked: "what hooks ask for", Guessed: "guesses"}
	return fmt.Sprintf("%s (%s)", words[o.Source], Count(o.Keys, "key"))
}

// worldText are origins for people, one for each endpoint.
func worldText(all []Origin) (lines []string) {
	for i, o := range all {
		text := "by " + o.Text()
		if o.Keys == 0 {
			text = "with " + o.Text()
		}
		if i > 0 && all[i-1].Endpoint == o.Endpoint {
			lines[len(lines)-1] += " and " + text
		} else {
			lines = append(lines, o.Endpoint+" "+text)
		}
	}
	return lines
}

// keysOf are the keys that an endpoint's stub is to publish at first: what sources say, or else
// words of the code. partner are those that a partner has published.
func (s Subject) keysOf(e Endpoint, partner []Key) []Key {
	if keys := firstOf(s.recorded[e.Name], partner, s.schemaKeys(e)); len(keys) > 0 {
		return keys
	}
	return s.guesses()
}

// firstOf are keys of several sources. Of a name that more than one has, the first one's count.
func firstOf(sources ...[]Key) (all []Key) {
	for _, keys := range sources {
		known := slices.Clone(all)
		for _, k := range keys {
			if !slices.ContainsFunc(known, func(o Key) bool { return o.Name == k.Name }) {
				all = append(all, k)
			}
		}
	}
	return all
}

// guesses are the words of the code as keys.
func (s Subject) guesses() (all []Key) {
	for _, w := range s.Words {
		all = append(all, Key{Name: w, Kind: guess(w), From: Guessed})
	}
	return all
}

// sourced says whether there are keys of which more than the name is known.
func sourced(keys []Key) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.From != Guessed && k.From != Asked })
}

// requoted are keys whose texts are published the other way: as JSON has them, or as they are.
// Libraries differ in that, and schemas don't say it. Nil: there are no such keys.
func requoted(keys []Key) (out []Key) {
	if !slices.ContainsFunc(keys, func(k Key) bool { return k.Text }) {
		return nil
	}
	for _, k := range keys {
		k.JSON = k.JSON != k.Text
		out = append(out, k)
	}
	return out
}

// otherForms are what to try for a key whose value the charm can't use.
func (k Key) otherForms() (all []Key) {
	all = append(all, requoted([]Key{k})...)
	for _, kind := range Kinds() {
		all = append(all, Key{Name: k.Name, Kind: kind, Where: k.Where, From: Guessed})
	}
	return all
}

// telling says whether a key's value would give something away where it shows: what is short may
// be there by chance.
func (k Key) telling() bool {
	return confidential(k.Name) && (k.Kind == Word || k.Kind == Given && len(k.Value) >= 12 && !strings.ContainsAny(k.Value, addressMark+"{["))
}

// The marks in a value that is given: for the address of who publishes it, and for the URI of the
// key's secret. No value that can be published has them.
const (
	addressMark = "\x01"
	secretMark  = "\x02"
)

var (
	keyName   = pattern.New(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	secretURI = pattern.New(`secret:[A-Za-z0-9/-]+`)
	redacted  = pattern.New(`^redacted-\d+x*$`)
)

// ownKeys are those that units publish without their charms.
func ownKey(name string) bool {
	return slices.Contains([]string{"egress-subnets", "ingress-address", "private-address"}, name)
}

// maxValue bounds a value that is published, in bytes.
const maxValue = 8 << 10

// publishable says whether a stub can publish that: a line of a scenario has to hold it.
func publishable(name, value string) bool {
	return keyName.MatchString(name) && !ownKey(name) && value != "" && len(value) <= maxValue &&
		utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl)
}

// publisher is who has published a databag, in a recording or as a partner.
type publisher struct {
	from    Source
	address string
	// names are of its unit and its application, and what the stub's are.
	names map[string]string
	// content are the keys of the content of secrets, by their URIs.
	content map[string][]string
}

// keys are those of a databag, for a stub to publish.
func (p publisher) keys(bag map[string]string, where Where) (all []Key) {
	for _, name := range sortedOf(bag) {
		value := bag[name]
		if !publishable(name, value) {
			continue
		}
		k := Key{Name: name, Kind: Given, Where: where, From: p.from}
		uris := secretURI.Regexp().FindAllString(value, -1)
		switch {
		case len(uris) > 0:
			k.Kind = Secret
			for _, uri := range uris {
				k.Fields = append(k.Fields, p.content[idOf(uri)]...)
			}
			if value != uris[0] {
				k.Value = secretURI.Regexp().ReplaceAllString(value, secretMark)
			}
		case redacted.MatchString(value):
			k.Kind = Word
		default:
			k.Value = value
			if p.address != "" {
				k.Value = strings.ReplaceAll(value, p.address, addressMark)
			}
			if ours, ok := p.names[value]; ok {
				k.Value = ours
			}
		}
		all = append(all, k)
	}
	return all
}

// idOf is what a secret's URI ends with: it may name the model too.
func idOf(uri string) string { return uri[strings.LastIndexAny(uri, ":/")+1:] }

// content are the keys of the content of the secret that a key names: those that are known, and
// those that a charm may look for.
func (w World) content(e Endpoint, k Key) (names []string) {
	all := slices.Clone(k.Fields)
	for _, key := range e.Keys {
		all = append(all, key.Name)
	}
	if sourced(e.Keys) {
		all = append(all, w.Words...)
	}
	for _, name := range all {
		if secretKey.MatchString(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// word is KEY=VALUE for a line of a scenario, of the stub's unit n or its application.
func (e Endpoint) word(k Key, n int) string {
	if k.Kind != Secret {
		value := e.value(k, n)
		if k.JSON {
			if b, err := json.Marshal(value); err == nil {
				value = string(b)
			}
		}
		return k.Name + "=" + quoted(value)
	}
	around := k.Value
	if around == "" {
		around = secretMark
		if k.JSON {
			around = `"` + secretMark + `"`
		}
	}
	out := k.Name + "="
	for i, part := range strings.Split(strings.ReplaceAll(around, addressMark, e.address(n)), secretMark) {
		if i > 0 {
			out += "$" + e.variable(k)
		}
		if part != "" { // in quotes always: it must not look like a part of the variable's name
			out += "'" + strings.ReplaceAll(part, "'", "''") + "'"
		}
	}
	return out
}
