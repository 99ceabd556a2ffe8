package cli

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/service"
)

// door is where a page is served, and what whoever looks has to know.
type door struct {
	listener net.Listener
	token    string
	kept     string // the file that the token is kept in; empty: none
}

// openDoor is the door that a service manager has given, or else one of this command's own, with
// a token that nobody knows yet.
func openDoor(dir string, f uiFlags, given net.Listener) (door, error) {
	if err := f.check(); err != nil {
		return door{}, err
	}
	if given == nil {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
		return door{listener: listener, token: newToken()}, errors.Annotatef(err, "cannot serve the page on port %d", f.port)
	}
	if f.port != 0 {
		return door{}, Usagef("--port is for a port of the page's own, and the service manager has passed a socket: leave it out")
	}
	if tcp, ok := given.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return door{}, errors.Errorf("the socket %s can be reached by others, and the page is served on loopback only: give ListenStream=127.0.0.1:PORT", tcp)
	}
	token, file, err := keptToken(dir)
	return door{given, token, file}, err
}

// said is how a person is told of the address with the token: not by its text, if that goes to
// a journal that others read.
func (d door) said(address string) string {
	if d.kept == "" {
		return address
	}
	where, _, _ := strings.Cut(address, "#")
	return where + " (the token, for #token=TOKEN at its end, is in " + d.kept + ")"
}

func newToken() string {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails
	return hex.EncodeToString(secret)
}

// uiTokenCredential is the credential of a service that has the page's token.
const uiTokenCredential = "ui-token"

// keptToken is the token of a page that is served whenever somebody looks: that of the service's
// credential, or that of the data directory, which is made if there is none.
func keptToken(dir string) (token, file string, err error) {
	file, credential := service.Credential(uiTokenCredential)
	if !credential {
		file = filepath.Join(dir, "ui.token")
	}
	st, err := os.Stat(file)
	switch {
	case os.IsNotExist(err):
		token = newToken()
		err = durable.Disk{}.ReplaceFile(file, []byte(token+"\n"), 0o600)
		return token, file, errors.Annotate(err, "cannot keep the page's token")
	case err != nil:
		return "", "", errors.Annotate(err, "cannot read the page's token")
	case !credential && st.Mode().Perm()&0o077 != 0: // the manager sees to those of credentials
		return "", "", errors.Errorf("others can read the page's token: chmod 600 %s", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", "", errors.Annotate(err, "cannot read the page's token")
	}
	if token = strings.TrimSpace(string(b)); len(token) < 16 {
		return "", "", errors.Errorf("the page's token in %s is too short: give 16 characters or more, or remove the file for a new one", file)
	}
	return token, file, nil
}
