package trees

import (
	"bytes"
	"io"
	"os"
)

// CopyFile copies the content of a file to one that isn't there yet, which this user alone may read. The error is that of the
// file system.
func CopyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// sameContent says whether two files can be read and have the same content.
func (k *Keeper) sameContent(a, b string) bool {
	one, err := os.Open(a)
	if err != nil {
		return false
	}
	defer one.Close()
	other, err := os.Open(b)
	if err != nil {
		return false
	}
	defer other.Close()
	if k.buffers[0] == nil {
		k.buffers = [2][]byte{make([]byte, 64<<10), make([]byte, 64<<10)}
	}
	x, y := k.buffers[0], k.buffers[1]
	for {
		n, aerr := io.ReadFull(one, x)
		m, berr := io.ReadFull(other, y)
		if !bytes.Equal(x[:n], y[:m]) || ended(aerr) != ended(berr) {
			return false
		}
		if aerr != nil {
			return ended(aerr)
		}
	}
}

// ended says whether an error is that of a file's end.
func ended(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
