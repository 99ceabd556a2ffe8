package state

import (
	"slices"

	"github.com/juju/errors"
)

// skippedKey has the revisions of a local charm that were passed over, as somebody asked
// for a higher one: nobody has ever had them. All others below the sequence's number were
// used once, though the charm may be gone.
func skippedKey(charm string) string { return "skipped-revisions/" + charm }

// span is a row of revisions, from First to the one before End.
type span struct {
	First int `json:"first"`
	End   int `json:"end"`
}

// revision draws that of a local charm, which no charm of the name has had in the model:
// the wanted one, if it is such, else the next.
// Source: docs/spec/cli-juju.md §1.1.
func (t *txn) revision(name string, wanted int) (int, error) {
	next, skipped := 0, []span(nil)
	if _, err := t.find(sequenceKey("charm/"+name), &next); err != nil {
		return 0, errors.Trace(err)
	}
	if _, err := t.find(skippedKey(name), &skipped); err != nil {
		return 0, errors.Trace(err)
	}
	drawn, left := draw(next, skipped, wanted)
	if err := t.skip(name, skipped, left); err != nil {
		return 0, errors.Trace(err)
	}
	if drawn < next {
		return drawn, nil
	}
	return drawn, t.put(sequenceKey("charm/"+name), drawn+1)
}

// skip notes which revisions have been passed over, where others were before.
func (t *txn) skip(name string, before, now []span) error {
	switch {
	case slices.Equal(now, before):
		return nil
	case len(now) == 0:
		return t.delete(skippedKey(name))
	}
	return t.put(skippedKey(name), now)
}

// draw is the revision that somebody gets who wants one (below 0: any), where next is
// above all that have been used and those were skipped; and what is skipped then.
func draw(next int, skipped []span, wanted int) (drawn int, left []span) {
	if wanted > next {
		return wanted, append(slices.Clone(skipped), span{next, wanted})
	}
	for i, s := range skipped {
		if wanted < s.First || wanted >= s.End {
			continue
		}
		left = slices.Clone(skipped[:i])
		for _, part := range []span{{s.First, wanted}, {wanted + 1, s.End}} {
			if part.First < part.End {
				left = append(left, part)
			}
		}
		return wanted, append(left, skipped[i+1:]...)
	}
	return next, skipped
}
