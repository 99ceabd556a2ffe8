package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"mime"
	"mime/multipart"
	"time"
)

const (
	// MaxContent is the size in bytes from which on a content is left out: of a
	// body, a file in one, or a stream of a command.
	MaxContent = 128 << 10
	// MaxAsked bounds what is kept of what one run has asked of Pebbles, in bytes;
	// MaxSize is for the rest.
	MaxAsked = 1 << 20
)

// Container is a workload container of the unit, as a recorded run found it.
type Container struct {
	Name string
	// State is one of the constants below.
	State string
}

// The states of a container in a run: its Pebble answered, it didn't, or that has
// changed while the hook ran, so that a part of what was asked may be missing.
const (
	ContainerUp      = "up"
	ContainerDown    = "down"
	ContainerChanged = "changed"
)

// Asked is a request that the charm has made of a container's Pebble, with its
// answer. A command that Pebble runs is one of them, with all that it was given
// and has printed. Source: docs/spec/containers.md §4.6.
type Asked struct {
	Container string
	Method    string
	Path      string // with its query
	Body      Body
	// Status is that of the answer; 0: the connection ended before.
	Status int
	Answer Body
	// Exec has the streams of a command; nil: none was run.
	Exec *Exec `json:",omitempty"`

	// At is when it began, after the start of the run; Took is how long it took.
	At, Took time.Duration
}

// Exec is what went to a command that Pebble ran, and what came from it.
type Exec struct {
	Stdin, Stdout, Stderr Content
	// Control has what was sent to steer it, as signals: a line of JSON each.
	Control Content
	// Exit is its exit code, as a later answer tells it, for people; empty: none did.
	Exit string
}

// Body is what a request or an answer has.
type Body struct {
	// Type is the media type, without parameters.
	Type string
	Content
	// Parts are those of a multipart/form-data, which has no content of its own.
	Parts []Part
}

// Part is a part of a body.
type Part struct {
	Name, File, Type string
	Content
}

// Content is any bytes.
type Content struct {
	Bytes []byte
	// Digest is that of a content that was too large, "sha256:…", and Size its
	// size; empty: Bytes has it.
	Digest string `json:",omitempty"`
	Size   int64  `json:",omitempty"`
}

// LeftOut says whether the recording doesn't have the bytes.
func (c Content) LeftOut() bool { return c.Digest != "" }

func (c Content) size() int { return len(c.Bytes) + len(c.Digest) }

// String is the request as people read it.
func (a Asked) String() string { return a.Container + ": " + a.Method + " " + a.Path }

// contents are all contents of the request and its answer.
func (a *Asked) contents() []*Content {
	all := []*Content{&a.Body.Content, &a.Answer.Content}
	for i := range a.Body.Parts {
		all = append(all, &a.Body.Parts[i].Content)
	}
	for i := range a.Answer.Parts {
		all = append(all, &a.Answer.Parts[i].Content)
	}
	if e := a.Exec; e != nil {
		all = append(all, &e.Stdin, &e.Stdout, &e.Stderr, &e.Control)
	}
	return all
}

// clone is a copy whose contents can be replaced.
func (a Asked) clone() Asked {
	a.Body.Parts = append([]Part(nil), a.Body.Parts...)
	a.Answer.Parts = append([]Part(nil), a.Answer.Parts...)
	if a.Exec != nil {
		e := *a.Exec
		a.Exec = &e
	}
	return a
}

// size is about what the request takes.
func (a *Asked) size() int {
	n := 128 + len(a.Path)
	for _, c := range a.contents() {
		n += c.size()
	}
	for _, p := range append(append([]Part(nil), a.Body.Parts...), a.Answer.Parts...) {
		n += 32 + len(p.File)
	}
	return n
}

// gathering takes down a content as it comes. The zero value is ready.
type gathering struct {
	bytes []byte
	size  int64
	sum   hash.Hash // nil: it isn't too large yet
}

// Write is part of io.Writer; it never fails.
func (g *gathering) Write(b []byte) (int, error) {
	g.size += int64(len(b))
	switch {
	case g.sum != nil:
		g.sum.Write(b)
	case g.size > MaxContent:
		g.sum = sha256.New()
		g.sum.Write(g.bytes)
		g.sum.Write(b)
		g.bytes = nil
	default:
		g.bytes = append(g.bytes, b...)
	}
	return len(b), nil
}

func (g *gathering) content() Content {
	if g.sum != nil {
		return Content{Digest: "sha256:" + hex.EncodeToString(g.sum.Sum(nil)), Size: g.size}
	}
	return Content{Bytes: g.bytes}
}

// gather reads to the end; that of what was broken off is where it was.
func gather(from io.Reader) Content {
	var g gathering
	_, _ = io.Copy(&g, from)
	return g.content()
}

// readBody reads a body to its end. contentType is its header.
func readBody(contentType string, from io.Reader) Body {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return Body{Type: contentType, Content: gather(from)}
	}
	b := Body{Type: kind}
	if kind != multipartType || params["boundary"] == "" {
		b.Content = gather(from)
		return b
	}
	parts := multipart.NewReader(from, params["boundary"])
	for {
		p, err := parts.NextRawPart()
		if err != nil {
			_, _ = io.Copy(io.Discard, from)
			return b
		}
		one := Part{Name: p.FormName(), Type: p.Header.Get("Content-Type")}
		// FileName would have the last element of the path alone.
		if _, disposition, err := mime.ParseMediaType(p.Header.Get("Content-Disposition")); err == nil {
			one.File = disposition["filename"]
		}
		one.Content = gather(p)
		b.Parts = append(b.Parts, one)
	}
}

const multipartType = "multipart/form-data"
