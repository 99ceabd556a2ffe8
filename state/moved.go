package state

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// moved says of the keys of a databag which version of it has written or
// deleted them last. It is for people: who was told of a version can be told
// which keys have changed since.
type moved map[string]int

// maxMoved bounds a moved in bytes: it has to fit, beside as many settings as
// there may be, into one value of the store.
const maxMoved = 512

// after is moved once a version has changed a databag from one to the other.
// What moved long ago is forgotten first.
func (m moved) after(from, to model.Settings, version int) moved {
	out := moved{}
	maps.Copy(out, m)
	for k := range from {
		if _, ok := to[k]; !ok {
			out[k] = version
		}
	}
	for k, v := range to {
		if old, ok := from[k]; !ok || old != v {
			out[k] = version
		}
	}
	newest := slices.SortedFunc(maps.Keys(out), func(a, b string) int {
		return cmp.Or(cmp.Compare(out[b], out[a]), cmp.Compare(a, b))
	})
	size := 0
	for _, k := range newest {
		if size += 2*len(k) + len(`"":1234567890,`); size > maxMoved {
			delete(out, k)
		}
	}
	return out
}

// since are the keys that have changed after a version, in order.
func (m moved) since(version int) []string {
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] > version {
			keys = append(keys, k)
		}
	}
	return keys
}

// MovedSettings are the keys of a databag that have changed since it had a
// version: that of a unit in a relation or, where unit is empty, that of an
// application. Where very many have, it is only some of them; none where there
// is no such databag.
func (m *Model) MovedSettings(ctx context.Context, id model.RelationID, unit model.UnitName, application string, since int) ([]string, error) {
	key := appSettingsKey(id, application)
	if unit != "" {
		key = unitSettingsKey(id, unit)
	}
	return m.movedSince(ctx, key, since)
}

// MovedLeaderSettings is MovedSettings for an application's leader settings.
func (m *Model) MovedLeaderSettings(ctx context.Context, application string, since int) ([]string, error) {
	return m.movedSince(ctx, leaderSettingsKey(application), since)
}

func (m *Model) movedSince(ctx context.Context, key string, version int) ([]string, error) {
	var doc settingsDoc
	_, err := m.view(ctx, func(r docs) error {
		doc = settingsDoc{}
		_, err := r.find(key, &doc)
		return errors.Trace(err)
	})
	return doc.Moved.since(version), errors.Trace(err)
}
