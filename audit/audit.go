// Package audit says whether what agents have run keeps what charms are
// guaranteed: it reads the histories in a data directory, and has each unit's
// watched by the automata of package sim. Every test that runs agents ends with
// it.
//
//	history, debug.log ──▶ Dir ──▶ sim.Check, for each unit ──▶ the guarantee that is broken
package audit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/uniter/sim"
)

// Dir checks all units of all models that agents with the data directory dir
// (machine.Config.Dir) have run, also those that are gone. The error has a
// *sim.Violation for each unit that broke a guarantee, or says what can't be
// read.
func Dir(dir string) error {
	models, err := filepath.Glob(filepath.Join(dir, "models", "*"))
	if err != nil {
		return errors.Trace(err)
	}
	var broken []string
	for _, m := range models {
		found, err := checkModel(m)
		if err != nil {
			return errors.Trace(err)
		}
		broken = append(broken, found...)
	}
	if len(broken) == 0 {
		return nil
	}
	return errors.New(strings.Join(broken, "\n"))
}

// checkModel returns what was broken in a model, whose files are in dir.
func checkModel(dir string) ([]string, error) {
	histories := filepath.Join(dir, "history")
	units, err := history.Units(histories)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if len(units) == 0 {
		return nil, nil
	}
	forgotten, err := readForgotten(filepath.Join(dir, "debug.log"))
	if err != nil {
		return nil, errors.Trace(err)
	}
	var broken []string
	for _, unit := range units {
		// One that was set aside lacks its beginning some day.
		if _, err := os.Stat(history.Path(histories, unit) + ".1"); err == nil {
			continue
		}
		entries, err := history.Read(histories, unit)
		if err != nil {
			return nil, errors.Trace(err)
		}
		for _, runs := range lives(entries) {
			if err := sim.Check(unit, runs, forgotten[unit.Tag()]); err != nil {
				broken = append(broken, err.Error())
			}
		}
	}
	return broken, nil
}

// lives are the runs of each of the units that had the name, one after the other.
func lives(entries []history.Entry) [][]sim.Run {
	var all [][]sim.Run
	at := map[string]int{}
	for _, e := range entries {
		i, known := at[e.ID]
		if known && i < 0 {
			continue
		}
		if !known && e.Run > 1 && e.Hook.Cause == resolver.CauseForgotten {
			at[e.ID] = -1 // the unit began on another disk, which has that history
			continue
		}
		if !known {
			i = len(all)
			at[e.ID] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], sim.Run{Hook: e.Hook, Outcome: outcome(e)})
	}
	return all
}

// outcome is what became of a run. One of a workload hook that has failed counts as
// one that holds nothing up, also where its application wants it to: the history
// doesn't have that.
func outcome(e history.Entry) sim.Outcome {
	switch e.Outcome {
	case history.Failed, history.Interrupted:
		if e.Hook.IsWorkload() {
			return sim.Aside
		}
		return sim.Failed
	case history.Stopped:
		return sim.Stopped
	case history.Skipped:
		return sim.Skipped
	case history.Dropped:
		return sim.Dropped
	}
	return sim.Succeeded
}

var relationsOf = pattern.New(`^` + string(resolver.Forget) + `\b.* relations="\[([0-9 ]*)\]"`)

// readForgotten reads from a model's log which relations each unit, by its tag,
// was made to forget; none where there is no log.
func readForgotten(path string) (map[string][]model.RelationID, error) {
	found := map[string][]model.RelationID{}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return found, nil
	}
	err := debuglog.ReadAll(path, func(e debuglog.Entry) error {
		m := relationsOf.FindStringSubmatch(e.Message)
		if m == nil {
			return nil
		}
		for _, text := range strings.Fields(m[1]) {
			id, err := strconv.Atoi(text)
			if err != nil {
				return errors.Trace(err)
			}
			found[e.Entity] = append(found[e.Entity], model.RelationID(id))
		}
		return nil
	})
	return found, errors.Trace(err)
}
