package sessions

import (
	"bytes"
	"testing"
)

func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{"", "i\x00\x00\x00\x02ab", "o\x00\x01\x00\x00", "o\xff\xff\xff\xff", "q\x00\x00\x00\x01"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		from := bytes.NewReader(b)
		for {
			k, read, err := readFrame(from)
			if err != nil {
				return
			}
			var again bytes.Buffer
			if err := (&frames{to: &again}).write(k, read); err != nil {
				t.Fatal(err)
			}
			if k2, read2, err := readFrame(&again); err != nil || k2 != k || !bytes.Equal(read2, read) {
				t.Fatalf("%c %q comes back as %c %q, %v", k, read, k2, read2, err)
			}
		}
	})
}
