package journal

import (
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/uniter/resolver"
)

// Record is what a journal had at some moment.
type Record struct {
	Generation uint64
	Local      resolver.Local
}

// Newest is Read with the record's generation, which is 0 where nothing was stored.
// The journal may be written to meanwhile: then it is the one before, or the new one.
func Newest(dir string) (Record, error) {
	// A slot that is begun again, or a record that is being written, can't be read for a
	// moment; a damaged one can't be read ever.
	for tries := 0; ; tries++ {
		j := &Journal{dir: dir}
		local, err := j.find()
		if err == nil || !errors.Is(err, ErrCorrupt) || tries == patience {
			return Record{j.generation, local}, errors.Trace(err)
		}
	}
}

// patience is how often what can't be read is read again.
const patience = 100

// At finds, in the journal in dir, what its unit's agent knew at the moment at which
// the model had the stamp committed. before is what Newest said earlier than that
// moment, and At is called later: the agent may have gone on.
//
// It is a record that was durable by then, of which the model has everything: an agent
// that finds it, and such a model, is one that was killed at that moment. The id is the unit's. Two records are known to have
// been durable: before, and the one that announced the run that the model has the
// stamp of, as it was written before the run began. The later one of them it is. The record that
// follows it may have been written before that moment or after; if it announces one run and nothing
// else, that makes no difference to the model, and it is taken: the run counts as
// interrupted then. What is later than that may know of commits that the model doesn't have.
//
// ok is false where no record of that moment is left, as of a journal that was
// lost: the agent goes on from what the model remembers then (resolver, rule "lost").
// Source: docs/architecture.md, "The journal and the stamp".
func At(dir string, before Record, id string, committed int64) (r Record, ok bool, err error) {
	now, err := Newest(dir)
	if err != nil || now.Generation == before.Generation {
		return now, now.Generation > 0 && now.Local.ID == id, errors.Trace(err)
	}
	all, err := records(dir)
	if err != nil {
		return Record{}, false, errors.Trace(err)
	}
	if r = before; r.Generation == 0 || r.Local.Run < committed || r.Local.ID != id {
		if r, ok = announced(all, committed, id); !ok {
			return Record{}, false, nil
		}
	}
	if _, run := began(r.Local); run > committed {
		return r, true, nil // that it has ended is later
	}
	for _, next := range all {
		if next.Generation == r.Generation+1 && announces(r, next) {
			return next, true, nil
		}
	}
	return r, true, nil
}

// announced is the record that has announced the run with that number, of the unit
// with that id.
func announced(all []Record, run int64, id string) (Record, bool) {
	for _, r := range all {
		l := r.Local
		if of, begun := began(l); of && begun == run && l.ID == id {
			return r, true
		}
	}
	return Record{}, false
}

// announces says whether a record does nothing but announce the run after those that
// the one before it knows.
func announces(before, r Record) bool {
	of, run := began(r.Local)
	return of && run > before.Local.Run && r.Local.ID == before.Local.ID && r.Local.Charm == before.Local.Charm
}

// began is the run that a record says has begun, and not how it has ended.
func began(l resolver.Local) (of bool, run int64) {
	switch {
	case l.Task != nil:
		return true, l.Task.Run
	case l.Current != nil && l.Current.Step == resolver.Pending:
		return true, l.Current.Run
	}
	return false, 0
}

// records are those that can be read in both slots, the oldest first.
func records(dir string) ([]Record, error) {
	var slots [2][]Record
	for i := range slots {
		path := (&Journal{dir: dir}).slot(i)
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, errors.Annotatef(err, "cannot read %s", path)
		}
		slots[i] = recordsIn(b)
	}
	if len(slots[0]) > 0 && len(slots[1]) > 0 && slots[0][0].Generation > slots[1][0].Generation {
		slots[0], slots[1] = slots[1], slots[0]
	}
	return append(slots[0], slots[1]...), nil
}

func recordsIn(b []byte) (all []Record) {
	var s slot
	for {
		r, err := parse(b)
		if err != nil || s.generation == 0 && r.word != wholeWord || s.generation > 0 && (r.word != changeWord || r.generation != s.generation+1) || s.take(r) != nil {
			return all
		}
		all = append(all, Record{s.generation, s.local})
		b = b[min(r.size, len(b)):]
	}
}

// Encode is a slot that has one record: with it in FirstSlot, and no other slot, a
// journal goes on from it.
func Encode(r Record) ([]byte, error) {
	b, err := encode(wholeWord, r.Generation, r.Local)
	return b, errors.Trace(err)
}

// FirstSlot is the name of a slot's file in a unit's directory.
const FirstSlot = "journal-0"
