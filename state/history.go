package state

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

const (
	// maxHistoryLines is the most that StatusHistoryLines may be.
	maxHistoryLines = 200
	// maxHistoryBytes bounds a history however long its messages are.
	maxHistoryBytes = 64 << 10
)

// A history has the newest statuses of an entity, oldest first, in one document: a key,
// a checksum and the names of fields for each of them were most of what a model had in
// its store (docs/scale.md).
//
// Up to format 2 each status was a document of its own below the history's key, at the
// place of its number in a ring of fifty. Those are read until the history is written
// next; then they are in it, and are the cleanup queue's.
type historyDoc []historyLine

// historyLine is a status as a history has it: a list of milliseconds since 1970, the
// word, and the message and data if there are any.
type historyLine struct{ model.Status }

// MarshalJSON implements json.Marshaler.
func (l historyLine) MarshalJSON() ([]byte, error) {
	fields := []any{l.Since.UnixMilli(), l.Status.Status}
	if l.Message != "" || len(l.Data) > 0 {
		fields = append(fields, l.Message)
	}
	if len(l.Data) > 0 {
		fields = append(fields, l.Data)
	}
	return model.EncodeJSON(fields)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *historyLine) UnmarshalJSON(b []byte) error {
	var fields []json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return errors.Trace(err)
	}
	*l = historyLine{}
	since := int64(0)
	for i, into := range []any{&since, &l.Status.Status, &l.Message, &l.Data} {
		if i >= len(fields) {
			break
		}
		if err := json.Unmarshal(fields[i], into); err != nil {
			return errors.Trace(err)
		}
	}
	l.Since = time.UnixMilli(since).UTC()
	return nil
}

// bounded is the history without what is too much of it.
func (h historyDoc) bounded(lines int) (historyDoc, error) {
	h = h[max(0, len(h)-lines):]
	size := 0
	for i, line := range slices.Backward(h) {
		b, err := json.Marshal(line)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if size += len(b); size > maxHistoryBytes && i < len(h)-1 {
			return h[i+1:], nil
		}
	}
	return h, nil
}

// history is what has been kept of an entity's statuses; former: a part of it is as
// format 2 had it.
func (d docs) history(kind StatusKind, name string) (h historyDoc, former bool, err error) {
	if found, err := d.find(historyKey(kind, name), &h); err != nil || found {
		return h, false, errors.Trace(err)
	}
	kvs, err := d.List(d.m.prefix() + formerHistory(kind, name))
	if err != nil || len(kvs) == 0 {
		return nil, false, errors.Trace(err)
	}
	owner := unitKey(model.UnitName(name))
	if kind == ApplicationStatus {
		owner = applicationKey(name)
	}
	entity, err := d.Get(d.m.prefix() + owner)
	if errors.Is(err, errors.NotFound) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	// Until the cleanup queue is run there may be some of a former entity of the
	// same name.
	kvs = slices.DeleteFunc(kvs, func(kv store.KV) bool { return kv.Rev < entity.CreateRev })
	lines, err := decode[formerLine](kvs)
	slices.SortFunc(lines, func(a, b formerLine) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, line := range lines {
		h = append(h, historyLine{line.Status})
	}
	return h, true, errors.Trace(err)
}

// formerLine is a status as histories had it up to format 2.
type formerLine struct {
	model.Status
	Seq int `json:"seq"`
}

// addHistory adds a status to the history of an entity.
func (t *txn) addHistory(kind StatusKind, name string, s model.Status) error {
	h, former, err := t.history(kind, name)
	if err != nil {
		return errors.Trace(err)
	}
	now, err := t.settings()
	if err != nil {
		return errors.Trace(err)
	}
	lines, err := strconv.Atoi(now.all[StatusHistoryLines])
	if err != nil {
		return errors.Annotate(err, StatusHistoryLines)
	}
	if h, err = append(h, historyLine{s}).bounded(lines); err != nil {
		return errors.Trace(err)
	}
	if former {
		// The document is none of those below it, and none of them is written any more.
		if err := t.cleanup(formerHistory(kind, name)); err != nil {
			return errors.Trace(err)
		}
	}
	return t.put(historyKey(kind, name), h)
}

// dropHistory takes the history of an entity away that goes. Its name can be used
// again at once.
func (t *txn) dropHistory(kind StatusKind, name string) error {
	former, err := t.Keys(t.m.prefix()+formerHistory(kind, name), "", 1)
	if err != nil {
		return errors.Trace(err)
	}
	if len(former) > 0 {
		if err := t.queue(cleanupDoc{Prefix: formerHistory(kind, name), Upto: t.Rev()}); err != nil {
			return errors.Trace(err)
		}
	}
	return t.delete(historyKey(kind, name))
}
