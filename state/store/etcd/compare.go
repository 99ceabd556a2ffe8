package etcd

import (
	"maps"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxOps is how many comparisons, and how many operations, etcd takes in one
// transaction.
const maxOps = 128

// The marks of deletions are at directories of three sizes: what is before a
// key's third slash, its second one, and nothing. With a model's prefix that is
// one kind of its documents, the model, and the store. So there are never more
// marks than kinds of documents, and they needn't be cleared away.
const (
	fine   = 3
	coarse = 2
)

// directory is what a key has up to its slash with that number, or up to its
// last one if it has fewer.
func directory(key string, slashes int) string {
	at := 0
	for range slashes {
		i := strings.IndexByte(key[at:], '/')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return key[:at]
}

// marks are the directories to be marked for deletions of the keys: at most
// most of them, the smallest that do.
func marks(deleted []string, most int) []string {
	for _, slashes := range []int{fine, coarse} {
		dirs := map[string]bool{}
		for _, key := range deleted {
			dirs[directory(key, slashes)] = true
		}
		if len(dirs) <= most {
			return slices.Sorted(maps.Keys(dirs))
		}
	}
	return []string{""}
}

// guards are spans of marks that are written to when a key of the span is
// deleted.
func guards(s span) []span {
	common := commonPrefix(s)
	dir := directory(common, fine)
	out := []span{{dir, next(dir)}}
	if strings.Count(common, "/") < fine {
		// Keys of the span may have more slashes than their common beginning.
		out[0].end = max(s.end, next(dir))
	}
	for _, larger := range []string{directory(common, coarse), ""} {
		if larger != dir {
			out = append(out, span{larger, next(larger)})
		}
	}
	return out
}

// commonPrefix is what all keys of the span begin with.
func commonPrefix(s span) string {
	n := 0
	for n < len(s.from) && n < len(s.end) && s.from[n] == s.end[n] {
		n++
	}
	return s.from[:n]
}

// check is one thing to be compared: that nothing in a span is newer than the
// revision that was read; or, where exact, that a key still has its revision.
type check struct {
	span
	exact bool
	rev   int64
}

// checks are what has to be compared for a transaction to be one: at most most.
// Where there are more, neighbours are thrown together; that is never wrong,
// but may have the transaction tried again for nothing.
func (t *transaction) checks(most int) []check {
	var points []check
	for _, key := range slices.Sorted(maps.Keys(t.got)) {
		points = append(points, check{span{t.s.key(key), next(t.s.key(key))}, true, t.got[key].Rev})
	}
	for _, key := range slices.Sorted(maps.Keys(t.leased)) {
		if _, got := t.got[key]; !got {
			points = append(points, check{span{t.s.key(key), next(t.s.key(key))}, true, t.leased[key]})
		}
	}
	ranges := t.ranges
	for {
		all := append(slices.Clone(points), t.rangeChecks(ranges)...)
		if len(all) <= most {
			return all
		}
		// Keys give way to the ranges that they are in, and then to larger ones.
		if len(points) > 0 {
			ranges = append(slices.Clone(ranges), groups(points, t.s.key(""), max(most/8, 1))...)
			points = nil
			continue
		}
		fewer := halved(ranges, true)
		if len(fewer) == len(merge(slices.Clone(ranges))) {
			fewer = halved(ranges, false)
		}
		ranges = fewer
	}
}

// rangeChecks are the checks of ranges with those of the marks that go with
// them.
func (t *transaction) rangeChecks(ranges []span) []check {
	keys, dirs := merge(slices.Clone(ranges)), []span{}
	for _, s := range ranges {
		dirs = append(dirs, guards(s)...)
	}
	var all []check
	for _, s := range keys {
		all = append(all, check{span: span{t.s.key(s.from), t.s.key(s.end)}})
	}
	for _, s := range merge(dirs) {
		all = append(all, check{span: span{t.s.mark(s.from), t.s.mark(s.end)}})
	}
	return all
}

// merge joins spans that overlap.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return strings.Compare(a.from, b.from) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}

// groups are about n spans that have all of the keys in them; the keys have a
// prefix that the spans haven't. None reaches from one model into another: what
// is between them may not be the user's to read.
func groups(points []check, prefix string, n int) []span {
	slices.SortFunc(points, func(a, b check) int { return strings.Compare(a.from, b.from) })
	most := (len(points) + n - 1) / n
	var out []span
	in := 0
	for _, p := range points {
		s := span{strings.TrimPrefix(p.from, prefix), strings.TrimPrefix(p.end, prefix)}
		if last := len(out) - 1; last >= 0 && in < most && neighbours(out[last], s) {
			out[last].end = s.end
			in++
			continue
		}
		out, in = append(out, s), 1
	}
	return out
}

// neighbours says whether two spans are of the same model.
func neighbours(a, b span) bool { return directory(a.from, coarse) == directory(b.from, coarse) }

// halved joins each two of the spans that come one after the other, or only
// those that are of the same model.
func halved(spans []span, same bool) []span {
	var out []span
	joined := false
	for _, s := range merge(slices.Clone(spans)) {
		if last := len(out) - 1; last >= 0 && !joined && (!same || neighbours(out[last], s)) {
			out[last].end, joined = s.end, true
			continue
		}
		out, joined = append(out, s), false
	}
	return out
}

// mark is where the mark of a directory is.
func (s *Store) mark(dir string) string { return s.prefix + "d/" + dir }

// compare is the checks in etcd's terms.
func (t *transaction) compare(checks []check) []clientv3.Cmp {
	var out []clientv3.Cmp
	for _, c := range checks {
		if c.exact {
			out = append(out, clientv3.Compare(clientv3.ModRevision(c.from), "=", c.rev))
			continue
		}
		out = append(out, clientv3.Compare(clientv3.ModRevision(c.from).WithRange(c.end), "<", t.rev+1))
	}
	return out
}
