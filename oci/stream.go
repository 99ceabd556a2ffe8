package oci

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/juju/errors"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/unitd/unitd/durable"
)

// format is how something is compressed.
type format int

const (
	plain format = iota
	gzipped
	zstandard
)

// compression is seen from the first bytes: what manifests say of it isn't always so.
func compression(begin []byte) format {
	switch {
	case strings.HasPrefix(string(begin), "\x1f\x8b"):
		return gzipped
	case strings.HasPrefix(string(begin), "\x28\xb5\x2f\xfd"):
		return zstandard
	}
	return plain
}

// maxWindow is how much memory zstd may want, by which it says how far it looks back.
const maxWindow = 128 << 20

// decompress reads what is compressed, or isn't.
func decompress(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 256<<10)
	begin, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, errors.Trace(err)
	}
	switch compression(begin) {
	case gzipped:
		z, err := gzip.NewReader(b)
		return z, errors.Trace(err)
	case zstandard:
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, errors.Trace(err)
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(b), nil
}

// roomLeft is how much unpacking leaves free on its disk, and roomEach how often
// it looks.
const (
	roomLeft = 256 << 20
	roomEach = 64 << 20
)

// bounded reads no more than it has left, only as long as the context is valid, and
// as there is room.
type bounded struct {
	ctx  context.Context
	r    io.Reader
	left int64
	dir  string // on the disk that there must be room on; empty: on none
	next int64  // bytes until it is looked at
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, errors.Trace(err)
	}
	if b.next <= 0 && b.dir != "" {
		if err := durable.Room(b.dir, roomLeft); err != nil {
			return 0, errors.Trace(err)
		}
		b.next = roomEach
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	b.next -= int64(n)
	if b.left < 0 {
		return 0, tooLarge("is larger than %d bytes", defaultLimits.bytes)
	}
	return n, err
}

// tooLarge is what a bomb is answered with.
func tooLarge(format string, args ...any) error {
	return errors.NewQuotaLimitExceeded(nil, "the image "+fmt.Sprintf(format, args...)+", which unitd takes for a mistake")
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func sumOf(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

// printable is an error whose text is one line, whatever names strangers have given.
func printable(err error) error {
	if err == nil || visibleText(err.Error()) == err.Error() {
		return err
	}
	return &inText{err}
}

type inText struct{ error }

func (e *inText) Error() string { return visibleText(e.error.Error()) }

func (e *inText) Unwrap() error { return e.error }

func visibleText(s string) string { return strings.Map(visible, s) }

// ahead reads in a goroutine of its own, which ends with Close: so what it reads
// from, a decompressor, and what reads from it have a processor each.
type ahead struct {
	full  chan chunk
	free  chan []byte
	quit  chan struct{}
	ended chan struct{}
	now   chunk
	rest  []byte
}

type chunk struct {
	b   []byte
	err error
}

func readAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan chunk, 4), free: make(chan []byte, 4), quit: make(chan struct{}), ended: make(chan struct{})}
	for range cap(a.free) {
		a.free <- make([]byte, 256<<10)
	}
	go a.run(r)
	return a
}

func (a *ahead) run(r io.Reader) {
	defer close(a.ended)
	for {
		var b []byte
		select {
		case b = <-a.free:
		case <-a.quit:
			return
		}
		var n int
		var err error
		for n < len(b) && err == nil {
			var m int
			m, err = r.Read(b[n:])
			n += m
		}
		select {
		case a.full <- chunk{b[:n], err}:
		case <-a.quit:
			return
		}
		if err != nil {
			return
		}
	}
}

func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.b != nil {
			a.free <- a.now.b[:cap(a.now.b)]
		}
		a.now = <-a.full
		a.rest = a.now.b
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close ends the reading, and waits for it.
func (a *ahead) Close() error {
	close(a.quit)
	<-a.ended
	return nil
}
