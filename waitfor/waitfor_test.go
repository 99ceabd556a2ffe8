package waitfor_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/waitfor"
)

// ledger is an application of two units on one machine.
func ledger() waitfor.Object {
	machine := waitfor.Object{"id": "0", "life": "alive", "status": "started", "config": waitfor.Entries{}}
	unit := func(name, status string) waitfor.Object {
		return waitfor.Object{
			"name": name, "life": "alive", "workload-status": status, "subordinate": false, "machine-id": "0",
			"machines": waitfor.Set{"0": machine},
		}
	}
	return waitfor.Object{
		"name": "ledger", "life": "alive", "status": "active", "exposed": true, "min-units": float64(0), "workload-version": "12",
		"units":    waitfor.Set{"ledger/0": unit("ledger/0", "active"), "ledger/1": unit("ledger/1", "blocked")},
		"machines": waitfor.Set{"0": machine},
	}
}

// Source: docs/spec/juju-clients.md §7.6.
func TestQueries(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		`life=="alive" && status=="active"`:                                                  true,
		`life == 'alive'`:                                                                    true,
		`life=="dead" || status=="active"`:                                                   true,
		`life=="dead" || status=="blocked"`:                                                  false,
		`life=="dead" && status=="active" || exposed`:                                        true, // && binds closer
		`life=="dead" && (status=="active" || exposed)`:                                      false,
		`exposed == true && exposed != false`:                                                true,
		`min-units < 1 && min-units >= 0 && 2 > 1.5 && -1 <= 0`:                              true,
		`"a" < "b" && "b" > "a"`:                                                             true,
		`len(units) == 2 && len(name) == 6`:                                                  true,
		`forEach(units, unit => unit.life == "alive")`:                                       true,
		`forEach(units, unit => unit.workload-status == "active")`:                           false,
		`forEach(units, u => startsWith(u.name, "ledger/") && endsWith(u.machine-id, "0"))`:  true,
		`forEach(units, u => forEach(u.machines, m => m.status == "started" && exposed))`:    true,
		`forEach(machines, m => m.id == "1")`:                                                false,
		`units["ledger/1"].workload-status == "blocked"`:                                     true,
		`units["ledger/7"].workload-status == "blocked"`:                                     false,
		`units["ledger/7"].workload-status != "blocked"`:                                     true,
		`forEach(units["ledger/0"].machines, m => m.config["k"] == "v")`:                     false,
		`forEach(units["ledger/0"].machines, m => m.config["k"] < 3)`:                        false,
		`int(workload-version) == 12 && int(2.5) == 2`:                                       true,
		`name == "le\dger" && 'it\'s' == "it's"`:                                             true,
		`print(status) && TRUE`:                                                              true,
		"\n  life\t==\n\"alive\" ":                                                           true,
		`forEach(units, life => life.name != "x") && life == "alive"`:                        true,
		strings.Repeat("(", 40) + `life=="alive"` + strings.Repeat(")", 40):                  true,
		`life=="dead" && int(name) == 1`:                                                     false, // the second isn't looked at
		`units["ledger/0"].life == "alive" && machines["0"].status == "started" && "a"!="b"`: true,
	} {
		q, err := waitfor.Parse(query, waitfor.ApplicationSchema())
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if sight, err := q.Look(ledger()); err != nil || sight.Holds != want {
			t.Errorf("%s: holds %v, %v; want %v", query, sight.Holds, err, want)
		}
	}
}

func TestNothingIsTrueOfEachOfAnEmptySet(t *testing.T) {
	t.Parallel()
	empty := ledger()
	empty["units"] = waitfor.Set{}
	q, err := waitfor.Parse(`forEach(units, u => u.life == "alive")`, waitfor.ApplicationSchema())
	if err != nil {
		t.Fatal(err)
	}
	if sight, err := q.Look(empty); err != nil || sight.Holds {
		t.Errorf("holds %v, %v", sight.Holds, err)
	}
}

func TestWhatIsWrongIsSaidWithItsPlace(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		``:                         `query, at its end: expected a value: a field, text in quotes, a number, true or false`,
		`life==`:                   `query, at its end: expected a value: a field, text in quotes, a number, true or false`,
		`life="alive"`:             `query, character 5, at "=\"alive\"": a comparison is written "=="`,
		`life=="alive" & exposed`:  `query, character 15, at "& exposed": it is written "&&"`,
		`!exposed`:                 `query, character 1, at "!exposed": there is no "not": compare with == or !=`,
		`life=="alive`:             `query, character 7, at "\"alive": this text has no end`,
		`1.2.3 == 1`:               `query, character 1, at "1.2.3 == 1": 1.2.3 is no number`,
		`life=="alive" exposed`:    `query, character 15, at "exposed": expected "&&", "||" or the end`,
		`(life=="alive"`:           `query, at its end: expected ")"`,
		`units["x"`:                `query, at its end: expected "]"`,
		`units["x"].`:              `query, at its end: expected the name of a field`,
		`lief=="alive"`:            `query, character 1, at "lief==\"alive\"": there is no "lief": there are charm-url, exposed, life, machines, min-units, name, status, subordinate, units, workload-version`,
		`"ä" == lief`:              `query, character 8, at "lief": there is no "lief": there are charm-url, exposed, life, machines, min-units, name, status, subordinate, units, workload-version`,
		`machines["0"].x == "a"`:   `query, character 15, at "x == \"a\"": a machine has no "x": it has base, config, container-type, id, instance-status, life, status, supported-containers, system`,
		`life.x == "a"`:            `query, character 6, at "x == \"a\"": text has no fields`,
		`life["x"] == "a"`:         `query, character 5, at "[\"x\"] == \"a\"": text has no entries`,
		`units[1].life == "a"`:     `query, character 7, at "1].life == \"a\"": entries are named by text, and this is a number`,
		`life == 3`:                `query, character 6, at "== 3": text can't be compared with a number`,
		`exposed < true`:           `query, character 9, at "< true": what is true or false is compared by == and != alone`,
		`units == units`:           `query, character 1, at "units == units": a set can't be compared`,
		`life && exposed`:          `query, character 1, at "life && exposed": "&&" wants what is true or false on both sides, and this is text`,
		`life`:                     `query, character 1, at "life": a query is true or false, and this is text`,
		`size(units) == 2`:         `query, character 1, at "size(units) == 2": there is no function "size": there are endsWith, forEach, int, len, print, startsWith`,
		`len(units, units) == 2`:   `query, character 1, at "len(units, units)...": len wants 1 in its parentheses, not 2`,
		`len(exposed) == 2`:        `query, character 5, at "exposed) == 2": len can't have true or false there`,
		`forEach(life, u => true)`: `query, character 9, at "life, u => true)": forEach goes through a set, and this is text`,
		`forEach(units, true)`:     `query, character 16, at "true)": forEach wants a function, as "x => x.life == \"alive\""`,
		`forEach(units, u => 1)`:   `query, character 21, at "1)": forEach asks what is true or false, and this is a number`,
		`u => true`:                `query, character 1, at "u => true": a function "u => …" belongs in forEach`,
		"life == \xff":             `query, character 1, at "life == ?": it isn't UTF-8`,
		strings.Repeat("(", 100):   `query, character 52, at "(((((((((((((((((...": parts of the query lie too deep within each other`,
		strings.Repeat(" ", 5000):  `query, character 4097, at "": a query has 4096 bytes at most`,
	} {
		_, err := waitfor.Parse(query, waitfor.ApplicationSchema())
		if err == nil || err.Error() != want && len(query) < 5000 {
			t.Errorf("%s:\n got %v\nwant %s", query, err, want)
		}
		var at *waitfor.Error
		if !errors.As(err, &at) {
			t.Errorf("%s: the error is a %T", query, err)
		}
	}
}

func TestTextThatIsNoNumberIsSaidWhereItIs(t *testing.T) {
	t.Parallel()
	q, err := waitfor.Parse(`life == "alive" && int(name) == 1`, waitfor.ApplicationSchema())
	if err != nil {
		t.Fatal(err)
	}
	want := `query, character 24, at "name) == 1": "ledger" is no whole number`
	if _, err := q.Look(ledger()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWhatWasLookedAtIsTold(t *testing.T) {
	t.Parallel()
	q, err := waitfor.Parse(`life=="alive" && min-units==0 && forEach(units, u => u.life=="alive" && print(u.workload-status))`, waitfor.ApplicationSchema())
	if err != nil {
		t.Fatal(err)
	}
	sight, err := q.Look(ledger())
	if err != nil {
		t.Fatal(err)
	}
	unit := func(status string) map[string]any {
		return map[string]any{"life": "alive", "workload-status": status}
	}
	want := map[string]any{
		"properties": map[string]any{"life": "alive", "min-units": int64(0)},
		"units":      map[string]any{"ledger/0": unit("active"), "ledger/1": unit("blocked")},
	}
	if !reflect.DeepEqual(sight.Seen, want) || fmt.Sprint(sight.Printed) != "[active blocked]" {
		t.Errorf("got %v, printed %v; want %v", sight.Seen, sight.Printed, want)
	}
}

// Whatever is written, reading it and looking by it ends, and an error names a place in
// it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`life=="alive" && status=="active"`, `forEach(units, u => u.life=="alive" || len(u.machines)>1)`, `units["ledger/0"].machines["0"].config["k"]!='v'`,
		`int(workload-version)>=-1.5`, `((`, `print(name)`, `machines["0"].config["a"]==machines["0"].config["b"]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := waitfor.Parse(query, waitfor.ApplicationSchema())
		if err == nil {
			_, err = q.Look(ledger())
		}
		var at *waitfor.Error
		if err != nil && (!errors.As(err, &at) || at.At < 0 || at.At > len(at.Query) || strings.Contains(at.Error(), "\n")) {
			t.Errorf("%q: %v", query, err)
		}
	})
}
