package check

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// likelyValues bounds the values of an option that the charm names, and nearOption the lines of
// code after an option's name that are read for them.
const (
	likelyValues = 6
	nearOption   = 4
)

// configForm is a line that reads an option.
var configForm = pattern.New(`\bconfig\b.*["']`)

// likelyForm is a literal that may be the value of an option. What has a slash or a colon names something
// that may have to be fetched, as a channel does.
var likelyForm = pattern.New("[\"'`]([A-Za-z0-9][A-Za-z0-9_.-]{0,39})[\"'`]")

// readValues adds what a text names as values of options of the type string: the literals right
// after each place where it names the option.
func (s *Subject) readValues(text string) {
	lines := strings.Split(text, "\n")
	for name, o := range s.Charm.Options {
		if o.Type != "string" || !strings.Contains(text, name) {
			continue
		}
		named := regexp.MustCompile(`["']` + regexp.QuoteMeta(name) + `["']|\bconfig-get\s+` + regexp.QuoteMeta(name) + `(?:[^\w-]|$)`)
		for i, line := range lines {
			at := named.FindStringIndex(line)
			if at == nil {
				continue
			}
			s.addValues(name, line[at[1]:])
			for _, next := range lines[i+1 : min(i+1+nearOption, len(lines))] {
				if configForm.MatchString(next) {
					break // it is about another option
				}
				s.addValues(name, next)
			}
		}
	}
}

// describedValues adds the values that the descriptions of options name in quotes.
func (s *Subject) describedValues() {
	for name, o := range s.Charm.Options {
		if o.Type == "string" {
			s.addValues(name, o.Description)
		}
	}
}

// addValues adds the literals of a text to the values of an option: those that are no names of
// anything that the charm has.
func (s *Subject) addValues(option, text string) {
	for _, m := range likelyForm.Regexp().FindAllStringSubmatch(text, -1) {
		_, isOption := s.Charm.Options[m[1]]
		switch {
		case isOption, slices.Contains(s.names(), m[1]), slices.Contains(s.Values[option], m[1]):
		case m[1] == fmt.Sprint(s.Charm.Options[option].Default), len(s.Values[option]) >= likelyValues:
		default:
			if s.Values == nil {
				s.Values = map[string][]string{}
			}
			s.Values[option] = append(s.Values[option], m[1])
		}
	}
}

// set sets an option.
func (w World) set(option, value string) string {
	return fmt.Sprintf("config %s %s=%s", w.Application(), option, quoted(value))
}

// reset gives an option its default.
func (w World) reset(option string) string {
	return fmt.Sprintf("config %s --reset %s", w.Application(), option)
}

// configuring: options that can't be right block the unit, which goes on once they are right.
func configuring(w World, chance *rand.Rand) (all []probe) {
	all = append(all, w.fewWrong())
	for _, setUp := range w.states() {
		for _, name := range slices.Sorted(maps.Keys(w.Charm.Options)) {
			p := probe{setUp: setUp, parts: [][]string{{"mark right"}}}
			values, same := w.wrong(w.Charm.Options[name]), "same right"
			if value, ok := other(w.Charm.Options[name]); ok && len(values) == 0 {
				values, same = []string{value}, "same --but files right" // none is wrong; a file may well stay
			}
			for _, value := range shuffled(values, chance) {
				p.parts = append(p.parts, []string{w.set(name, value), "settle"})
			}
			p.end = []string{w.reset(name), "settle", same}
			if len(p.parts) > 1 {
				all = append(all, p)
			}
		}
	}
	all = slices.Insert(all, 1, refusing(w, w.bare()).cut()...)
	if len(w.Endpoints) > 0 { // it may be waiting for them
		all = append(all, refusing(w, w.full()).cut()...)
	}
	return slices.Concat(all, entrusting(w), choosing(w))
}

// fewWrong gives each of the first options some values that are wrong for nearly all, one option after the other.
func (w World) fewWrong() probe {
	p := probe{setUp: w.bare(), first: []string{"mark right"}}
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Options)) {
		var part []string
		for _, value := range w.wrong(w.Charm.Options[name])[:min(3, len(w.wrong(w.Charm.Options[name])))] {
			part = append(part, w.set(name, value), "settle")
		}
		if len(part) > 0 && len(p.parts) < maxOptions {
			p.parts = append(p.parts, append(part, w.reset(name), "settle", "same right"))
		}
	}
	return p
}

// wrong are values of an option's type, most of which no charm can use.
func (w World) wrong(o model.ConfigOption) (values []string) {
	switch o.Type {
	case "int":
		values = []string{"0", "-1", "65536", "2147483648"}
		for _, n := range w.Numbers {
			for _, near := range []int64{n + 1, n - 1} {
				if text := strconv.FormatInt(near, 10); !slices.Contains(values, text) && len(values) < 20 && near < 1<<40 {
					values = append(values, text)
				}
			}
		}
	case "float":
		values = []string{"0", "-1.5", "1000000000"}
	case "string":
		values = []string{"", "-1", "no such thing", "{", "a:b:c", "/"}
	}
	return slices.DeleteFunc(values, func(v string) bool { return v == fmt.Sprint(o.Default) })
}

// choosing tries the values of options that the charm names: no hook fails, and once the option has its
// default again all is as it was, but for files.
func choosing(w World) (all []probe) {
	for _, name := range slices.Sorted(maps.Keys(w.Values)) {
		p := probe{setUp: w.full(), first: []string{"mark right"}}
		for _, value := range w.Values[name] {
			p.parts = append(p.parts, []string{w.set(name, value), "settle"})
		}
		p.end = []string{w.reset(name), "settle", "same --but files right"}
		all = append(all, p)
	}
	return all
}

// secretOptions are the options whose values are secrets of the model.
func (w World) secretOptions() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Options)) {
		if w.Charm.Options[name].Type == "secret" {
			names = append(names, name)
		}
	}
	return names
}

// inOption is the secret of an option, as if it were one that a stub's key names.
func (w World) inOption(name string) (Endpoint, Key) {
	k := Key{Name: name, Kind: Secret, Fields: append(slices.Clone(w.Words), "username", "password", "token", "key", "value")}
	return Endpoint{Name: "option", Keys: []Key{k}}, k
}

// setSecret makes the secret of an option, and sets the option.
func (w World) setSecret(name string) []string {
	e, k := w.inOption(name)
	return append(w.secretsOf(e), fmt.Sprintf("config %s %s=%s", w.Application(), name, e.value(k, -1)), "settle")
}

// trusted has those options set to secrets with which the charm is known to go on.
func (w World) trusted() (lines []string) {
	for _, name := range w.Trusted {
		lines = append(lines, w.setSecret(name)...)
	}
	return lines
}

// entrusting: the secret of an option may be one that the charm can't read, or that hasn't what the
// charm looks for; and the option may lose its value again.
func entrusting(w World) (all []probe) {
	for _, name := range w.secretOptions() {
		e, k := w.inOption(name)
		set := w.setSecret(name)
		hidden := slices.DeleteFunc(slices.Clone(set), func(line string) bool { return strings.HasPrefix(line, "grant-secret ") })
		back := []string{w.reset(name), "settle", "same --but files right"}
		unlike := slices.Clone(set)
		unlike[0] = fmt.Sprintf("add-secret %s nothing=of-the-kind", e.secretName(k))
		for _, way := range [][]string{set, hidden, unlike} {
			all = append(all, one(w.bare(), slices.Concat([]string{"mark right"}, way, back)...))
		}
	}
	return all
}

// optionSecrets: the secret of an option gets another content, is taken away, and is gone.
func optionSecrets(w World) (all []probe) {
	for _, name := range w.Trusted {
		e, k := w.inOption(name)
		all = append(all, w.changedSecrets(e, k, w.setSecret(name))...)
	}
	return all
}

// wordOf is an option's value as its default is, or one that the charm names where it has none.
func (w World) wordOf(name string) (string, bool) {
	value, ok := other(w.Charm.Options[name])
	if values := w.Values[name]; !ok && len(values) > 0 {
		return values[0], true
	}
	return value, ok
}

// optionChange sets an option to another value that the charm may well take, and back.
type optionChange struct{ set, reset []string }

// maxOptions bounds the options that are changed in a life, which takes a second for each.
const maxOptions = 10

// changes are those of the first options.
func (w World) changes() (all []optionChange) {
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Options)) {
		if value, ok := w.wordOf(name); ok && len(all) < maxOptions {
			all = append(all, optionChange{[]string{w.set(name, value), "settle"}, []string{w.reset(name), "settle"}})
		}
	}
	return all
}

// change sets the first of them; none: there is none.
func (w World) change() [][]string {
	for _, c := range w.changes() {
		return [][]string{c.set}
	}
	return nil
}

// changeAll sets all of them at once, so that whatever one of them is for, the hook has to do with it;
// none: there are fewer than two.
func (w World) changeAll() [][]string {
	all := w.changes()
	if len(all) < 2 {
		return nil
	}
	command := "config " + w.Application()
	line := command
	for _, c := range all {
		line += strings.TrimPrefix(c.set[0], command)
	}
	return [][]string{{line, "settle"}}
}

// other is a value other than an option's default.
func other(o model.ConfigOption) (string, bool) {
	switch o.Type {
	case "int":
		n, _ := strconv.ParseInt(fmt.Sprint(o.Default), 10, 64)
		return strconv.FormatInt(n+1, 10), true
	case "boolean":
		return strconv.FormatBool(o.Default != true), true
	case "string":
		if text, ok := o.Default.(string); ok && text != "" && !strings.ContainsFunc(text, unicode.IsControl) {
			return text + " too", true
		}
	}
	return "", false
}
