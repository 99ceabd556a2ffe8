package check

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// Which values an option takes, only the charm knows. But where its description says so, as in "from 1 to
// 9", a value beyond that is wrong by the charm's own words, and the unit mustn't be active with it. Only what
// can hardly mean anything else is taken for such words, and only where the default agrees with them.

// stated is a value that an option's description rules out, and the words that do.
type stated struct{ value, words string }

const (
	statedNumber = `(-?\d+(?:\.\d+)?)\b`
	statedWord   = "[\"'`]?([\\w.-]*\\w)[\"'`]?"
)

var (
	statedRange = pattern.New(`(?i)\b(?:from ` + statedNumber + ` to|between ` + statedNumber + ` and) ` + statedNumber)
	statedLeast = pattern.New(`(?i)\bmust be at least ` + statedNumber)
	statedMost  = pattern.New(`(?i)\bmust be at most ` + statedNumber)
	statedEmpty = pattern.New(`(?i)\b((?:must not|mustn't|cannot|can't) be (?:empty|blank))(?:[\s.,;:!)]|$)`)
	statedOne   = pattern.New(`(?i)\b(?:must|has to) be one of:? (` + statedWord + `(?:(?:,? or |, )` + statedWord + `)+)(?:[.;\n]|$)`)
)

// conditional is in a sentence that says when something holds, and not that it does, and former in one about what was.
var (
	conditional = pattern.New(`(?i)\b(?:if|when|unless|while|where)\b`)
	former      = pattern.New(`(?i)\b(?:raised|changed|moved|increased|lowered|default)\b`)
)

// outright says whether what is found in a description, from and to those bytes, is said without a condition.
func outright(description string, from, to int) bool {
	begin := strings.LastIndexAny(description[:from], ".;\n") + 1
	end := len(description)
	if i := strings.IndexAny(description[to:], ".;\n"); i >= 0 {
		end = to + i
	}
	return !conditional.MatchString(description[to:end]) && !former.MatchString(description[begin:from])
}

// unlisted is a word that is in no list of an option's values.
const unlisted = "no-such-value"

// statedWrong are the values that an option's description rules out.
func statedWrong(o model.ConfigOption) []stated {
	switch o.Type {
	case "int", "float":
		return beyond(o)
	case "string":
		if text, ok := o.Default.(string); ok && text != "" {
			return notAmong(o.Description, text)
		}
	}
	return nil
}

// beyond are the numbers next to the stated limits, but for those that the description names anywhere, as
// in "from 1 to 9, or 0 for none". Where it states several ranges, it isn't clear which one holds.
func beyond(o model.ConfigOption) (all []stated) {
	usual, err := strconv.ParseFloat(fmt.Sprint(o.Default), 64)
	if err != nil {
		return nil
	}
	limits := func(p *pattern.Pattern) (words string, numbers []float64) {
		found := p.Regexp().FindAllStringSubmatchIndex(o.Description, -1)
		if len(found) != 1 || !outright(o.Description, found[0][0], found[0][1]) {
			return "", nil
		}
		for _, text := range p.FindStringSubmatch(o.Description)[1:] {
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				numbers = append(numbers, n)
			}
		}
		return o.Description[found[0][0]:found[0][1]], numbers
	}
	add := func(words string, n float64, right bool) {
		value := strconv.FormatFloat(n, 'f', -1, 64)
		named, _ := regexp.MatchString(`(?:^|[^\w.-])`+regexp.QuoteMeta(value)+`(?:[^\w.]|\.?$|\.\D)`, o.Description)
		if whole := n == float64(int64(n)); right && !named && (whole || o.Type == "float") {
			all = append(all, stated{value, words})
		}
	}
	if words, n := limits(statedRange); len(n) == 2 {
		right := n[0] <= usual && usual <= n[1]
		add(words, n[0]-1, right)
		add(words, n[1]+1, right)
	}
	if words, n := limits(statedLeast); len(n) == 1 {
		add(words, n[0]-1, n[0] <= usual)
	}
	if words, n := limits(statedMost); len(n) == 1 {
		add(words, n[0]+1, usual <= n[0])
	}
	return all
}

// notAmong are texts that a description rules out, whose option has some text as its default.
func notAmong(description, usual string) (all []stated) {
	if at := statedEmpty.Regexp().FindStringSubmatchIndex(description); at != nil && outright(description, at[2], at[3]) {
		all = append(all, stated{"", description[at[2]:at[3]]})
	}
	if m := statedOne.FindStringSubmatch(description); m != nil {
		listed := strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(" ,\"'`", r) })
		if slices.Contains(listed, usual) {
			all = append(all, stated{unlisted, m[1]})
		}
	}
	return all
}

// refusing: with a value that an option's description rules out, the unit isn't active.
func refusing(w World, setUp []string) probe {
	p := probe{setUp: setUp}
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Options)) {
		for _, wrong := range statedWrong(w.Charm.Options[name]) {
			p.parts = append(p.parts, []string{w.set(name, wrong.value), "settle", notActive + w.Unit() + " active", w.reset(name), "settle"})
		}
	}
	return p
}

// notActive begins the claim that a unit isn't active.
const notActive = "! workload "

// wrongly is the line that has set an option before a claim of refusing; "": it is no such claim.
func wrongly(before []string, claim string) string {
	if !strings.HasPrefix(claim, notActive) {
		return ""
	}
	for _, line := range slices.Backward(before) {
		if words := split(line); words[0] == "config" && len(words) == 3 && strings.Contains(words[2], "=") {
			return line
		}
	}
	return ""
}

// isActive says what has happened where a claim of refusing has failed, and its cause.
func isActive(claim, set string) (what, cause string) {
	assigned := split(set)[2]
	option, _, _ := strings.Cut(assigned, "=")
	unit := strings.Fields(strings.TrimPrefix(claim, notActive))[0]
	return fmt.Sprintf("%s is active with %s", unit, assigned), WrongConfig + ": active: " + option
}

// inItsWords adds to what has happened the words of the option's description that rule out the value that a line sets.
func (w World) inItsWords(set string) string {
	option, value, _ := strings.Cut(split(set)[2], "=")
	for _, wrong := range statedWrong(w.Charm.Options[option]) {
		if quoted(wrong.value) == value {
			return fmt.Sprintf(", though its description says %q", wrong.words)
		}
	}
	return ""
}
