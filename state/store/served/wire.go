package served

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

const (
	// protocol is the number of what both ends say to each other.
	protocol = 1
	// maxQuestion is how long a frame may be, and maxCommit that of those who are trusted: what
	// a transaction may write, in base64, and what it has read.
	maxQuestion = 256 << 10
	maxCommit   = 4 << 20
	// maxAnswer is how long a frame of the server's may be, as where a watch has much to catch up
	// with, and pieceBytes how many bytes of
	// values it puts into one before it begins the next: the last value comes on top.
	maxAnswer  = 256 << 20
	pieceBytes = 2 << 20
	// pieceKeys is how many keys are listed at once.
	pieceKeys = 1000
	// maxReads is how much a transaction may have read that is to be committed.
	maxReads = 20_000
)

// hello is what the server says first. An error says why it says nothing else.
type hello struct {
	Protocol int    `json:"unitd-store-protocol"`
	Format   string `json:"format"`
	Problem  *fault `json:"error,omitempty"`
}

// The questions.
const (
	askView    = "view"
	askGet     = "get"
	askPage    = "page"
	askEnd     = "end"
	askCommit  = "commit"
	askWatch   = "watch"
	askGrant   = "grant"
	askKeep    = "keep"
	askRevoke  = "revoke"
	askCompact = "compact"
	askKeys    = "keys"
	askAgent   = "agent"
	askSettled = "settled"
)

// question is what a client asks.
type question struct {
	Ask   string        `json:"ask"`
	Key   string        `json:"key,omitempty"`
	Page  *staged.Page  `json:"page,omitempty"`
	Write *commit       `json:"write,omitempty"`
	Of    []store.Keys  `json:"of,omitempty"`
	Rev   int64         `json:"rev,omitempty"`
	TTL   time.Duration `json:"ttl,omitempty"`
	Lease store.LeaseID `json:"lease,omitempty"`
	// Of askAgent and askSettled; Key is the machine.
	Model string          `json:"model,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// commit is a transaction that is to be made: Got are the keys that it has read, with their
// revisions, 0 for those that weren't there, and Pages those that it has listed.
type commit struct {
	Got     map[string]int64        `json:"got,omitempty"`
	Pages   []listed                `json:"pages,omitempty"`
	Writes  map[string]staged.Write `json:"writes"`
	Relaxed bool                    `json:"relaxed,omitempty"`
}

// listed is a page with what was on it, see sum.
type listed struct {
	staged.Page
	Sum string `json:"sum"`
}

// answer is what the server replies.
type answer struct {
	Problem *fault          `json:"error,omitempty"`
	Rev     int64           `json:"rev,omitempty"`
	KVs     []store.KV      `json:"kvs,omitempty"`
	More    bool            `json:"more,omitempty"` // another piece follows
	Last    bool            `json:"last,omitempty"` // of the page: there are no keys after it
	Lost    bool            `json:"lost,omitempty"` // what was read has changed: nothing was written
	Lease   store.LeaseID   `json:"lease,omitempty"`
	Keys    string          `json:"keys,omitempty"` // for secrets
	Body    json.RawMessage `json:"body,omitempty"` // what an agent has answered
	Batch   *store.Batch    `json:"batch,omitempty"`
}

// wire is one end of a connection.
type wire struct {
	in   *bufio.Reader
	out  io.Writer
	most int // how long a frame that comes may be
}

func newWire(c io.ReadWriter, most int) *wire {
	return &wire{in: bufio.NewReaderSize(c, 16<<10), out: c, most: most}
}

// send writes a frame.
func (w *wire) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return errors.Trace(err)
	}
	// In one write: two would be two packets to wake up for.
	_, err = w.out.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(b)), uint32(len(b))), b...))
	return errors.Trace(err)
}

// size reads how long the next frame is. The error is io.EOF where the other end has closed the
// connection between two frames, and NotValid for one that is too long.
func (w *wire) size(most int64) (int64, error) {
	var size [4]byte
	if _, err := io.ReadFull(w.in, size[:]); err != nil {
		return 0, err
	}
	n := int64(binary.BigEndian.Uint32(size[:]))
	if n > most {
		return 0, errors.NotValidf("frame of %d bytes where at most %d may come", n, most)
	}
	return n, nil
}

// body reads the rest of a frame of n bytes. The error is NotValid for what can't be.
func (w *wire) body(n int64, v any) error {
	// No room is made for what may never come.
	b, err := io.ReadAll(io.LimitReader(w.in, n))
	if err == nil && int64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return errors.Trace(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return errors.NewNotValid(err, "what came over the connection can't be read")
	}
	return nil
}

// receive reads a frame, with errors as size and body have them.
func (w *wire) receive(v any) error {
	n, err := w.size(int64(w.most))
	if err != nil {
		return err
	}
	return w.body(n, v)
}
