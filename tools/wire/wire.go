package wire

import (
	"errors"
	"io"
)

const (
	// Version is the first byte of each request and reply.
	Version = 1
	// MaxHead bounds context, directory and arguments together, in bytes.
	MaxHead = 8 << 20
	// MaxStdin bounds the standard input of a tool, in bytes.
	MaxStdin = 64 << 20
	// MaxReply bounds each stream of a reply, in bytes.
	MaxReply = 256 << 20
	// NeedStdin is the code of a reply that only asks for the same request
	// once more, with stdin.
	NeedStdin = -1
)

// What a reader can find wrong. Besides, it returns what the connection
// returned; io.ErrUnexpectedEOF where it ended too early.
var (
	ErrVersion  = errors.New("unknown version of the hook tool protocol")
	ErrTooLarge = errors.New("hook tool call too large")
	ErrFormat   = errors.New("malformed hook tool call")
)

// Request is one call of a tool.
type Request struct {
	// Context is the id of the hook run that the call belongs to.
	Context string
	// Dir is the caller's working directory, absolute.
	Dir string
	// Args are the tool's name and its arguments.
	Args []string
	// StdinSet tells an empty standard input from one that was not sent.
	StdinSet bool
	Stdin    []byte
}

// Reply is what came of a call. The caller writes Stdout, then Stderr, and
// exits with Code.
type Reply struct {
	Code   int
	Stdout []byte
	Stderr []byte
}

const (
	requestHeader = 10
	replyHeader   = 13
	lengthSize    = 4
)

// Check is ErrTooLarge for a request that no reader would take.
func (r Request) Check() error {
	if r.headSize() > MaxHead || len(r.Stdin) > MaxStdin {
		return ErrTooLarge
	}
	return nil
}

func (r Request) headSize() int {
	n := 2*lengthSize + len(r.Context) + len(r.Dir)
	for _, a := range r.Args {
		n += lengthSize + len(a)
	}
	return n
}

// AppendRequest appends the request's bytes to b. The request must pass Check.
func AppendRequest(b []byte, r Request) []byte {
	b = append(b, Version, flag(r.StdinSet))
	b = appendU32(b, r.headSize())
	b = appendU32(b, len(r.Stdin))
	b = appendString(b, r.Context)
	b = appendString(b, r.Dir)
	for _, a := range r.Args {
		b = appendString(b, a)
	}
	return append(b, r.Stdin...)
}

// ReadRequest reads one request. It reads no further than its end.
func ReadRequest(from io.Reader) (Request, error) {
	var header [requestHeader]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return Request{}, early(err)
	}
	headSize, stdinSize := u32(header[2:]), u32(header[6:])
	switch {
	case header[0] != Version:
		return Request{}, ErrVersion
	case header[1] > 1 || header[1] == 0 && stdinSize > 0:
		return Request{}, ErrFormat
	case headSize > MaxHead || stdinSize > MaxStdin:
		return Request{}, ErrTooLarge
	}
	head, err := readBytes(from, int(headSize))
	if err != nil {
		return Request{}, err
	}
	r, err := parseHead(head)
	if err != nil {
		return Request{}, err
	}
	r.StdinSet = header[1] == 1
	r.Stdin, err = readBytes(from, int(stdinSize))
	return r, err
}

func parseHead(head []byte) (Request, error) {
	var fields []string
	for len(head) > 0 {
		if len(head) < lengthSize {
			return Request{}, ErrFormat
		}
		n := u32(head)
		head = head[lengthSize:]
		if uint64(n) > uint64(len(head)) {
			return Request{}, ErrFormat
		}
		fields = append(fields, string(head[:n]))
		head = head[n:]
	}
	if len(fields) < 2 {
		return Request{}, ErrFormat
	}
	return Request{Context: fields[0], Dir: fields[1], Args: fields[2:len(fields):len(fields)]}, nil
}

// AppendReply appends the reply's bytes to b.
func AppendReply(b []byte, r Reply) []byte {
	b = append(b, Version)
	b = appendU32(b, r.Code)
	b = appendU32(b, len(r.Stdout))
	b = appendU32(b, len(r.Stderr))
	b = append(b, r.Stdout...)
	return append(b, r.Stderr...)
}

// ReadReply reads one reply. It reads no further than its end.
func ReadReply(from io.Reader) (Reply, error) {
	var header [replyHeader]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return Reply{}, early(err)
	}
	if header[0] != Version {
		return Reply{}, ErrVersion
	}
	outSize, errSize := u32(header[5:]), u32(header[9:])
	if outSize > MaxReply || errSize > MaxReply {
		return Reply{}, ErrTooLarge
	}
	r := Reply{Code: int(int32(u32(header[1:])))}
	var err error
	if r.Stdout, err = readBytes(from, int(outSize)); err != nil {
		return Reply{}, err
	}
	if r.Stderr, err = readBytes(from, int(errSize)); err != nil {
		return Reply{}, err
	}
	return r, nil
}

// readBytes reads n bytes; nil for none. The buffer grows with what arrives.
func readBytes(from io.Reader, n int) ([]byte, error) {
	const step = 64 << 10
	var b []byte
	for len(b) < n {
		have := len(b)
		if have == cap(b) {
			grown := make([]byte, have, have+min(n-have, max(step, have)))
			copy(grown, b)
			b = grown
		}
		b = b[:min(cap(b), n)]
		if _, err := io.ReadFull(from, b[have:]); err != nil {
			return nil, early(err)
		}
	}
	return b, nil
}

// early makes the end of the stream an error: whoever reads expects more.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

func appendString(b []byte, s string) []byte { return append(appendU32(b, len(s)), s...) }

func appendU32(b []byte, n int) []byte {
	return append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func u32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
