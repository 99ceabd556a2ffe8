package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/uniter/resolver"
)

// The words that records begin with.
const (
	wholeWord  = "unitd-journal"
	changeWord = "unitd-change"
)

// record is one record as it is on disk.
type record struct {
	word       string
	generation uint64
	body       []byte
	size       int // with its header
}

// encode makes a record of what it is to say.
func encode(word string, generation uint64, content any) ([]byte, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, errors.Annotate(err, "cannot write the journal")
	}
	if len(body) > maxRecord {
		return nil, errors.Errorf("cannot write the journal: record of %d bytes", len(body))
	}
	b := fmt.Appendf(nil, "%s %d %d %d %08x\n", word, Version, generation, len(body), checksum(generation, body))
	return append(append(b, body...), '\n'), nil
}

// parse reads the record that b begins with. The error is ErrCorrupt or ErrNewer.
func parse(b []byte) (record, error) {
	header, rest, _ := bytes.Cut(b[:min(len(b), maxHeader)], []byte("\n"))
	var r record
	var version, length int
	var sum uint32
	n, err := fmt.Sscanf(string(header), "%s %d %d %d %x", &r.word, &version, &r.generation, &length, &sum)
	known := r.word == wholeWord || r.word == changeWord
	switch {
	case n >= 2 && known && version > Version && err != nil:
		return r, errors.Trace(ErrNewer)
	case err != nil || !known || len(rest) == 0:
		return r, errors.Annotate(ErrCorrupt, "header")
	case length < 0 || length > maxRecord:
		return r, errors.Annotate(ErrCorrupt, "length")
	}
	start := len(header) + 1
	if start+length > len(b) {
		return r, errors.Annotate(ErrCorrupt, "cut off")
	}
	r.body, r.size = b[start:start+length], start+length+1
	if checksum(r.generation, r.body) != sum {
		return r, errors.Annotate(ErrCorrupt, "checksum")
	}
	if version > Version {
		return r, errors.Trace(ErrNewer)
	}
	return r, nil
}

// maxHeader is more than a header has.
const maxHeader = 128

// checksum covers the generation too: a flipped digit there would make the
// older record the newer one.
func checksum(generation uint64, body []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum([]byte(fmt.Sprint(generation)), table)
	return crc32.Update(sum, table, body)
}

// slot is what one file says.
type slot struct {
	empty bool
	// generation is that of the newest record that can be read from the
	// beginning on, and local what it says; 0: none can.
	generation uint64
	local      resolver.Local
	// beyond is the newest record that is whole and can't be read, because one
	// before it isn't; 0: there is none.
	beyond uint64
}

// readSlot reads a slot. The error says why it has no record.
func readSlot(f *durable.File) (slot, error) {
	var s slot
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		s.empty = err == nil
		return s, errors.Trace(err)
	}
	b := make([]byte, min(st.Size(), (roomRatio+2)*maxRecord))
	if _, err := f.ReadAt(b, 0); err != nil {
		return s, errors.Trace(err)
	}
	rest, err := s.follow(b)
	if errors.Is(err, ErrNewer) {
		return s, errors.Trace(err)
	}
	s.search(rest)
	if s.generation > 0 {
		return s, nil
	}
	return s, errors.Trace(err)
}

// follow reads the records that follow each other from the beginning, and
// returns what comes after them, and why it can't be read.
func (s *slot) follow(b []byte) (rest []byte, err error) {
	for {
		r, err := parse(b)
		switch {
		case err != nil:
			return b, errors.Trace(err)
		case s.generation == 0 && r.word != wholeWord, s.generation > 0 && (r.word != changeWord || r.generation != s.generation+1):
			return b, errors.Annotate(ErrCorrupt, "order")
		}
		if err := s.take(r); err != nil {
			return b, errors.Annotatef(ErrCorrupt, "content: %v", err)
		}
		b = b[min(r.size, len(b)):]
	}
}

func (s *slot) take(r record) error {
	if r.word == wholeWord {
		if err := json.Unmarshal(r.body, &s.local); err != nil {
			return errors.Trace(err)
		}
		s.generation = r.generation
		return nil
	}
	var c change
	if err := json.Unmarshal(r.body, &c); err != nil {
		return errors.Trace(err)
	}
	s.local, s.generation = c.after(s.local), r.generation
	return nil
}

// search looks for later records among what can't be read in order. What an
// earlier use of the slot has left is older, and doesn't count.
func (s *slot) search(b []byte) {
	for _, word := range []string{wholeWord, changeWord} {
		for rest := b; ; {
			i := bytes.Index(rest, []byte(word+" "))
			if i < 0 {
				break
			}
			rest = rest[i:]
			if r, err := parse(rest); err == nil && r.generation > max(s.generation, s.beyond) {
				s.beyond = r.generation
			}
			rest = rest[len(word):]
		}
	}
}
