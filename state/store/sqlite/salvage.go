package sqlite

import (
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Salvage reads what can be read of the keys in a damaged file, in order, without
// changing it. Missing are keys that were there, as far as the file still says
// so, and can't be read; there may be others.
func Salvage(ctx context.Context, path string) (kvs []store.KV, missing []string, err error) {
	db, err := sql.Open("sqlite", dsn(path, "query_only(1)"))
	if err != nil {
		return nil, nil, errors.Annotate(err, "cannot read the store")
	}
	defer db.Close()
	s := salvager{ctx: ctx, db: db, found: map[string]store.KV{}, numbers: map[int64]bool{}}
	s.scan("key > ? ORDER BY key", "")
	s.scan("key < ? ORDER BY key DESC", "\x7f")
	known := s.indexed()
	s.rows()
	// What lies between two damaged pages is found from keys that were written
	// lately.
	for _, key := range s.written() {
		if _, ok := s.found[key]; !ok {
			s.scan("key >= ? ORDER BY key", key)
			known = append(known, key)
		}
	}
	slices.Sort(known)
	for _, key := range slices.Compact(known) {
		if _, ok := s.found[key]; !ok {
			missing = append(missing, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.found)) {
		kvs = append(kvs, s.found[key])
	}
	return kvs, missing, errors.Trace(ctx.Err())
}

type salvager struct {
	ctx   context.Context
	db    *sql.DB
	found map[string]store.KV
	// numbers are those of the rows that the index has keys for.
	numbers map[int64]bool
}

const columns = "key, value, rev, created, lease FROM kv "

// scan reads keys until what is next can't be read.
func (s *salvager) scan(where, from string) {
	rows, err := s.db.QueryContext(s.ctx, "SELECT "+columns+"WHERE "+where, from)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var kv store.KV
		if err := rows.Scan(&kv.Key, &kv.Value, &kv.Rev, &kv.CreateRev, &kv.Lease); err == nil {
			s.find(kv.Key, kv)
		}
	}
}

func (s *salvager) find(key string, kv store.KV) {
	if kv.Key = key; store.CheckKey(key) == nil {
		s.found[key] = kv
	}
}

// indexed reads the rows that the index has keys for, one by one, and returns the keys. An
// index is read without its rows, so a row that can't be read doesn't end that. A file that
// has its rows by key has no such index.
func (s *salvager) indexed() (keys []string) {
	for _, order := range []string{"ASC", "DESC"} {
		for number, key := range s.index(order) {
			if s.numbers[number] || store.CheckKey(key) != nil {
				continue
			}
			s.numbers[number] = true
			keys = append(keys, key)
			if _, ok := s.found[key]; ok {
				continue
			}
			var kv store.KV
			if err := s.db.QueryRowContext(s.ctx, "SELECT "+columns+"NOT INDEXED WHERE rowid = ?", number).
				Scan(&kv.Key, &kv.Value, &kv.Rev, &kv.CreateRev, &kv.Lease); err == nil {
				s.find(key, kv)
			}
		}
	}
	return keys
}

// index is what can be read of the index in one go: keys by the numbers of their rows.
func (s *salvager) index(order string) map[int64]string {
	keys := map[int64]string{}
	rows, err := s.db.QueryContext(s.ctx, "SELECT rowid, key FROM kv ORDER BY key "+order)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var number int64
		var key string
		if err := rows.Scan(&number, &key); err == nil {
			keys[number] = key
		}
	}
	return keys
}

// rows reads rows by their numbers, for those whose keys are on a damaged page of the index.
// Past a row that can't be read it looks in steps that double, and from there in
// both directions.
func (s *salvager) rows() {
	const up, down = "rowid >= ? AND rowid <= ? ORDER BY rowid", "rowid >= ? AND rowid <= ? ORDER BY rowid DESC"
	at, _ := s.numbered(up, math.MinInt64, math.MaxInt64)
	end, ok := s.numbered(down, math.MinInt64, math.MaxInt64)
	if !ok {
		end = math.MaxInt64
	}
	at = max(at, 0) // the first number is 1
	for step := int64(1); step > 0 && step < end-at && s.ctx.Err() == nil; step *= 2 {
		last, ok := s.numbered(up, at+step, end)
		if !ok {
			continue
		}
		s.numbered(down, at+1, at+step)
		at, step = last, 1
	}
}

// numbered reads rows until what is next can't be read, and is the number of the last one that
// was; false: there was none.
func (s *salvager) numbered(where string, from, to int64) (last int64, ok bool) {
	rows, err := s.db.QueryContext(s.ctx, "SELECT rowid, "+columns+"NOT INDEXED WHERE "+where, from, to)
	if err != nil {
		return 0, false
	}
	defer rows.Close()
	for rows.Next() {
		var kv store.KV
		var number int64
		if err := rows.Scan(&number, &kv.Key, &kv.Value, &kv.Rev, &kv.CreateRev, &kv.Lease); err != nil {
			continue
		}
		last, ok = number, true
		// A key that is in the index as well was read by that one.
		if _, there := s.found[kv.Key]; !there && !s.numbers[number] {
			s.find(kv.Key, kv)
		}
	}
	return last, ok
}

// written are keys that the list of changes says are there.
func (s *salvager) written() []string {
	there := map[string]bool{}
	rows, err := s.db.QueryContext(s.ctx, "SELECT key, deleted FROM change ORDER BY rev")
	if err != nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var deleted bool
		if err := rows.Scan(&key, &deleted); err == nil {
			there[key] = !deleted
		}
	}
	maps.DeleteFunc(there, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(there))
}
