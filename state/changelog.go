package state

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// loggedKind is the kind of the documents of the log of changes; loggedNextKey has the number of
// the next. It is no sequence like others, as nobody has anything to do because of it.
const (
	loggedKind    = "logged"
	loggedNextKey = "logged-next"
	// entryKind is, for the log, that of the model's entry in the list of models.
	entryKind = "entry"
)

const (
	// logWrites is how many keys the log of changes writes in a transaction: its number, what was
	// changed, and the oldest that goes; sealing says with what key. maxWrites is what is left
	// for everything else.
	logWrites  = 3
	sealWrites = 1
	maxWrites  = store.MaxWrites - logWrites - sealWrites
	// maxLoggedFields is how many fields one Logged has. A bundle of many applications makes more.
	maxLoggedFields = 200
)

// recorder is a transaction that remembers what was there before it wrote.
type recorder struct {
	store.Tx
	prefix string
	entry  string // the key of the model's entry in the list of models
	keys   []string
	before map[string][]byte
	after  map[string][]byte // nil: deleted
}

func newRecorder(tx store.Tx, m *Model) *recorder {
	return &recorder{Tx: tx, prefix: m.prefix(), entry: modelsPrefix + m.info.Name, before: map[string][]byte{}, after: map[string][]byte{}}
}

// Put is part of store.Tx.
func (r *recorder) Put(key string, value []byte) error {
	if err := r.note(key, value); err != nil {
		return err
	}
	return r.Tx.Put(key, value)
}

// Delete is part of store.Tx.
func (r *recorder) Delete(key string) error {
	if err := r.note(key, nil); err != nil {
		return err
	}
	return r.Tx.Delete(key)
}

func (r *recorder) note(key string, value []byte) error {
	short, ours := strings.CutPrefix(key, r.prefix)
	if key == r.entry {
		short, ours = entryKind, true
	}
	kind, _ := splitKey(short)
	if !ours || loggedKinds[kind].noun == "" {
		return nil
	}
	if _, again := r.before[short]; !again {
		kv, err := r.Tx.Get(key)
		switch {
		case errors.Is(err, ErrDocumentDamaged):
			return nil // nobody can say what it was: it is replaced, or goes
		case err != nil && !errors.Is(err, errors.NotFound):
			return errors.Trace(err)
		}
		r.keys, r.before[short] = append(r.keys, short), kv.Value
	}
	r.after[short] = value
	return nil
}

// fields are what was changed, by key, and how many more there are than a
// Logged has room for.
func (r *recorder) fields() (all []LoggedField, more int, err error) {
	slices.Sort(r.keys) // what an application is comes before its options, machines and units
	for _, key := range r.keys {
		fields, err := loggedFields(key, r.before[key], r.after[key])
		if err != nil {
			return nil, 0, errors.Annotatef(err, "document %s", key)
		}
		all = append(all, fields...)
	}
	if len(all) > maxLoggedFields {
		all, more = all[:maxLoggedFields], len(all)-maxLoggedFields
	}
	return all, more, nil
}

// log leaves in the model what the author has changed in the transaction. Of nothing that
// people know of nothing is left.
func (t *txn) log(r *recorder) error {
	if r == nil || len(r.keys) == 0 {
		return nil
	}
	fields, more, err := r.fields()
	if err != nil || len(fields) == 0 {
		return errors.Trace(err)
	}
	keep, err := t.changesKept(r)
	if err != nil || keep == 0 {
		return errors.Trace(err)
	}
	n := 0
	if _, err := t.find(loggedNextKey, &n); err != nil {
		return errors.Trace(err)
	}
	if err := t.put(loggedNextKey, n+1); err != nil {
		return errors.Trace(err)
	}
	if err := t.put(loggedKey(n), Logged{Number: n + 1, Time: t.now(), Author: t.m.author(), Changes: fields, More: more}); err != nil {
		return errors.Trace(err)
	}
	if n < keep {
		return nil
	}
	return t.delete(loggedKey(n - keep))
}

// changesKept is how many of the log are kept. A transaction that changes that is itself
// logged if anything was, or is to be.
func (t *txn) changesKept(r *recorder) (int, error) {
	now, err := t.settings()
	if err != nil {
		return 0, errors.Trace(err)
	}
	keep, err := keptOf(now)
	if text, changed := r.before[modelConfigKey]; changed && err == nil {
		was, err := t.m.charms.settingsOf(string(text))
		if err != nil {
			return 0, errors.Trace(err)
		}
		n, err := keptOf(was)
		return max(keep, n), errors.Trace(err)
	}
	return keep, errors.Trace(err)
}

func keptOf(s settings) (int, error) {
	n, err := strconv.Atoi(s.all[ChangesKept])
	return n, errors.Annotate(err, ChangesKept)
}

// trimLogged takes away what is more than the model keeps of the log, after fewer were asked for.
// The newest stays: it says so.
func (m *Model) trimLogged(ctx context.Context) error {
	for more := true; more; {
		_, err := m.update(ctx, func(tx *txn) error {
			more = false
			s, err := tx.settings()
			if err != nil {
				return errors.Trace(err)
			}
			keep, err := keptOf(s)
			if err != nil {
				return errors.Trace(err)
			}
			n := 0
			if _, err := tx.find(loggedNextKey, &n); err != nil {
				return errors.Trace(err)
			}
			old, err := tx.Keys(m.prefix()+loggedKind+"/", "", maxWrites)
			if err != nil {
				return errors.Trace(err)
			}
			for _, kv := range old {
				key := strings.TrimPrefix(kv.Key, m.prefix())
				if key >= loggedKey(n-max(keep, 1)) {
					return nil
				}
				if err := tx.delete(key); err != nil {
					return errors.Trace(err)
				}
			}
			more = len(old) == maxWrites
			return nil
		})
		if err != nil {
			return errors.Annotate(err, "cannot shorten the log of changes")
		}
	}
	return nil
}
