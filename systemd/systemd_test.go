package systemd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/systemd"
)

// listen has Watch on one end of a connection, and something else than systemd on the other.
func listen(t *testing.T, bus func(conn net.Conn)) error {
	t.Helper()
	ours, theirs := connected(t)
	go func() {
		defer theirs.Close()
		bus(theirs)
	}()
	return systemd.Watch(t.Context(), ours, func(s model.System) { t.Errorf("it says %v", s) })
}

// connected are both ends of a connection.
func connected(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ours, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// TestWhoeverAnswersInPlaceOfSystemdDoesNoHarm: what isn't the protocol, and what never ends.
func TestWhoeverAnswersInPlaceOfSystemdDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, bus := range map[string]func(net.Conn){
		"nobody": func(net.Conn) {},
		"another protocol": func(conn net.Conn) {
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		},
		"a name that nobody can lose": func(conn net.Conn) {
			in := bufio.NewReader(conn)
			for line := ""; !strings.HasSuffix(line, "BEGIN\r\n"); {
				var err error
				if line, err = in.ReadString('\n'); err != nil {
					return
				}
				if strings.Contains(line, "AUTH") {
					_, _ = conn.Write([]byte("OK 0123\r\n"))
				}
			}
			lost := &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
				dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/DBus")), dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.DBus"),
				dbus.FieldMember: dbus.MakeVariant("NameLost"), dbus.FieldSender: dbus.MakeVariant("org.freedesktop.DBus"),
			}}
			var text bytes.Buffer
			_ = lost.EncodeTo(&text, binary.LittleEndian)
			binary.LittleEndian.PutUint32(text.Bytes()[8:], 1) // its number
			_, _ = conn.Write(text.Bytes())
			_, _ = in.ReadByte() // it asks for its name, and gets no answer
		},
		"no end": func(conn net.Conn) {
			go func() { _, _ = bufio.NewReader(conn).WriteTo(discard{}) }()
			for text := []byte(strings.Repeat("x", 1<<16)); ; {
				if _, err := conn.Write(text); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := listen(t, bus); err == nil {
				t.Error("no error")
			}
		})
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestNobodyListensForEver: the end of the context is the end.
func TestNobodyListensForEver(t *testing.T) {
	t.Parallel()
	ours, theirs := connected(t)
	defer theirs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := systemd.Watch(ctx, ours, func(model.System) {}); err == nil || errors.Cause(err) == nil {
		t.Error(err)
	}
}
