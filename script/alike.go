package script

import (
	"strconv"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// numberForm is a whole number in a list, a map or a label, such as that of "[1, 2]" or "shelf-1": a
// number with text around it that isn't prose.
var numberForm = pattern.New(`(^|[\[{,"'#:/_-]) ?\d+($|[\]},"':/_-])`)

// digitsForm is each number of a value.
var digitsForm = pattern.New(`\d+`)

// relationIDs are the ids of relations, by what they relate.
func relationIDs(p model.Picture) map[string]model.RelationID {
	ids := map[string]model.RelationID{}
	for _, f := range p {
		if f.Kind == model.FactRelation {
			ids[f.Of] = f.Relation
		}
	}
	return ids
}

// alike says whether two values differ only in the ids of relations: a relation that is made again
// has another one. A value that is a number alone says how many there are of something, or the like.
func alike(was, is string, then, now map[string]model.RelationID) bool {
	if _, err := strconv.Atoi(was); err == nil {
		return false
	}
	next := map[string]string{}
	for of, id := range then {
		if is, ok := now[of]; ok {
			next[strconv.Itoa(int(id))] = strconv.Itoa(int(is))
		}
	}
	// Numbers share what is between them: each is looked at with what is around it in the whole value.
	out, from := "", 0
	for _, at := range digitsForm.Regexp().FindAllStringIndex(was, -1) {
		number := was[at[0]:at[1]]
		around := was[max(0, at[0]-2):min(len(was), at[1]+1)]
		if is, ok := next[number]; ok && numberForm.MatchString(around) {
			number = is
		}
		out, from = out+was[from:at[0]]+number, at[1]
	}
	return out+was[from:] == is
}
