package backup

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/juju/errors"
	"github.com/klauspost/compress/zstd"
)

const (
	// Format is the version of the files that this package writes. It reads no newer one.
	Format = 1

	magic     = "unitd-backup "
	infoName  = "backup.json"
	storeName = "store/"
	dataName  = "data/"
	endName   = "end.json"
	// chunk is about how much of the store is in one entry, in bytes, and maxEntry how much of what is
	// read into memory.
	chunk    = 1 << 20
	maxEntry = 16 << 20

	// ErrWrongKey is the error for a file that none of the keys opens that were given.
	ErrWrongKey = errors.ConstError("the passphrase or key is wrong")
	// ErrDamaged is the error for a file that isn't as it was written.
	ErrDamaged = errors.ConstError("backup is damaged")
)

// Info says what a backup is of.
type Info struct {
	Format int `json:"format"`
	// Version is that of the unitd that has written it, Host the host, for people.
	Version string    `json:"version"`
	Host    string    `json:"host"`
	Taken   time.Time `json:"taken"`
	// Revision is the store's, which all of the backup is of.
	Revision int64   `json:"revision"`
	Models   []Model `json:"models"`
	// Storage: the content of storage is in it.
	Storage bool `json:"storage"`
}

// Model is a model in a backup.
type Model struct {
	Name  string `json:"name"`
	UUID  string `json:"uuid"`
	Units []Unit `json:"units"`
}

// Unit is a unit in a backup.
type Unit struct {
	Name string `json:"name"`
	// Run is the newest run that has committed, and Running the hook in which the unit is
	// interrupted, if a backup was taken in one.
	Run     int64  `json:"run"`
	Running string `json:"running,omitempty"`
	// Machine has the files of the unit, if that is another host's: they aren't in the backup.
	Machine string `json:"machine,omitempty"`
	// Isolated: what its own machine has changed isn't in the backup.
	Isolated bool `json:"isolated,omitempty"`
}

// end is the last entry.
type end struct {
	Entries   int    `json:"entries"`
	SHA256    string `json:"sha256"`
	Documents int    `json:"documents"`
	// Void are directories that are in the backup and don't count: they were replaced as they were read.
	Void []string `json:"void,omitempty"`
}

// digest is of the entries of a file, in their order.
type digest struct {
	sum hash.Hash
	n   int
}

func newDigest() *digest { return &digest{sum: sha256.New()} }

func (d *digest) entry(h *tar.Header) {
	d.n++
	fmt.Fprintf(d.sum, "%q %d %o %q %d %d %d %d\n", h.Name, h.Typeflag, h.Mode, h.Linkname, h.Size, h.Uid, h.Gid, h.ModTime.Unix())
}

func (d *digest) end() end { return end{Entries: d.n, SHA256: hex.EncodeToString(d.sum.Sum(nil))} }

// archive is a backup that is being written.
type archive struct {
	age    io.WriteCloser
	packed *zstd.Encoder
	tar    *tar.Writer
	digest *digest
	chunks int
	store  []byte
	taken  time.Time
	voided []string
}

// newArchive begins a backup in w for whoever can open it.
func newArchive(w io.Writer, to []age.Recipient, taken time.Time) (*archive, error) {
	if _, err := fmt.Fprintf(w, "%s%d\n", magic, Format); err != nil {
		return nil, errors.Trace(err)
	}
	a := &archive{digest: newDigest(), taken: taken}
	var err error
	if a.age, err = age.Encrypt(w, to...); err != nil {
		return nil, errors.Annotate(err, "cannot encrypt")
	}
	if a.packed, err = zstd.NewWriter(a.age, zstd.WithEncoderConcurrency(1)); err != nil {
		return nil, errors.Trace(err)
	}
	a.tar = tar.NewWriter(a.packed)
	return a, nil
}

// head begins an entry, whose content follows by Write.
func (a *archive) head(h *tar.Header) error {
	h.Format = tar.FormatPAX
	if h.ModTime.IsZero() {
		h.ModTime = time.Unix(0, 0) // as it is read again
	}
	h.ModTime = h.ModTime.Truncate(time.Second)
	a.digest.entry(h)
	return errors.Trace(a.tar.WriteHeader(h))
}

// Write is part of io.Writer.
func (a *archive) Write(b []byte) (int, error) {
	_, _ = a.digest.sum.Write(b)
	n, err := a.tar.Write(b)
	return n, errors.Trace(err)
}

// whole writes an entry with that content.
func (a *archive) whole(name string, content []byte) error {
	if err := a.head(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: a.taken}); err != nil {
		return errors.Trace(err)
	}
	_, err := a.Write(content)
	return errors.Trace(err)
}

func (a *archive) json(name string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return errors.Trace(err)
	}
	return a.whole(name, append(b, '\n'))
}

// lines takes the lines of the store, which WriteEverything writes.
type lines struct{ *archive }

// Write is part of io.Writer.
func (l lines) Write(line []byte) (int, error) {
	if len(l.store) > 0 && len(l.store)+len(line) > chunk {
		if err := l.flush(); err != nil {
			return 0, errors.Trace(err)
		}
	}
	l.store = append(l.store, line...)
	return len(line), nil
}

// flush writes the lines that are waiting.
func (a *archive) flush() error {
	a.chunks++
	err := a.whole(fmt.Sprintf("%s%08d", storeName, a.chunks), a.store)
	a.store = a.store[:0]
	return errors.Trace(err)
}

// close writes the end.
func (a *archive) close(documents int) error {
	e := a.digest.end()
	e.Documents, e.Void = documents, a.voided
	if err := a.json(endName, e); err != nil {
		return errors.Trace(err)
	}
	for _, c := range []io.Closer{a.tar, a.packed, a.age} {
		if err := c.Close(); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// sink takes what a backup has. Its functions may be nil.
type sink struct {
	info  func(Info) error
	store func(lines io.Reader) error
	// file is told of each entry of the data directory, by its path there.
	file func(h *tar.Header, path string, content io.Reader) error
	// void is told at the end which directories among those don't count.
	void func(paths []string) error
}

// damaged is ErrDamaged with what is wrong.
func damaged(format string, args ...any) error {
	return errors.WithType(errors.Errorf("it is damaged: "+format, args...), ErrDamaged)
}

// read reads a backup to its end, and hands what it has to a sink. Only once it has
// returned nil is it known that all was as it was written. Errors: ErrWrongKey, ErrDamaged,
// NotValid for what is no backup, and the sink's own.
func read(r io.Reader, with []age.Identity, to sink) (Info, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	first, err := in.ReadString('\n')
	var version int
	if n, scanErr := fmt.Sscanf(first, magic+"%d\n", &version); err != nil || scanErr != nil || n != 1 {
		return Info{}, errors.NewNotValid(nil, "it is no backup of unitd")
	}
	if version > Format || version < 1 {
		return Info{}, errors.NewNotValid(nil, fmt.Sprintf("it has format %d, and this unitd reads %d: use the unitd that has written it, or a newer one", version, Format))
	}
	opened, err := age.Decrypt(in, with...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return Info{}, errors.WithType(errors.New("the passphrase or key is wrong, or the file's first bytes are damaged"), ErrWrongKey)
	case err != nil:
		return Info{}, damaged("%v", err)
	}
	info, err := readOpened(opened, to)
	if err != nil {
		return info, errors.Trace(err)
	}
	if n, err := io.Copy(io.Discard, opened); err != nil || n > 0 {
		return info, damaged("there is something after its end")
	}
	return info, nil
}

// readOpened reads what is inside of the encryption.
func readOpened(r io.Reader, to sink) (Info, error) {
	unpacked, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return Info{}, damaged("%v", err)
	}
	defer unpacked.Close()
	x := &extraction{tar: tar.NewReader(unpacked), digest: newDigest(), to: to}
	if err := x.all(); err != nil {
		return x.info, errors.Trace(err)
	}
	if n, err := io.Copy(io.Discard, unpacked); err != nil || n > 0 {
		return x.info, damaged("there is something after its end")
	}
	return x.info, nil
}

// clean says whether a name can be that of something in the data directory.
func clean(name string) bool {
	return name != "" && name != "." && path.Clean("/"+name) == "/"+name && !strings.ContainsAny(name, "\x00")
}
