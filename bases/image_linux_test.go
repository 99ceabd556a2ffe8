package bases_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/juju/errors"

	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
)

// TestMain makes the test's binary the init of machines, and what enters them, as unitd is.
func TestMain(m *testing.M) {
	if code, ok := isolate.Main(os.Args); ok {
		os.Exit(code)
	}
	if code, ok := oci.Main(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// imageStore can make bases of images.
func imageStore(t *testing.T) bases.Store {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	dir := t.TempDir()
	s := bases.Of(dir)
	s.Program, s.Images = self, &oci.Cache{Dir: filepath.Join(dir, "images")}
	return s
}

// apt stands for apt-get: what it installs is what a base has to have, and what tells how
// it was called.
const apt = `#!/bin/sh
set -e
echo "$http_proxy $*" >>/var/log/apt
case "$*" in *install*) ;; *) exit 0 ;; esac
[ ! -e /fail ] || { echo 'E: no such package'; exit 100; }
! /usr/sbin/policy-rc.d || exit 3
[ ! -e /etc/apt/apt.conf.d/docker-clean ] && [ ! -e /etc/dpkg/dpkg.cfg.d/excludes ]
mkdir -p /usr/lib/systemd /usr/sbin /etc/ssl/certs /opt/reached
echo >/usr/lib/systemd/systemd
rm -r /opt/gone
echo changed >/opt/kept
chown 33:33 /opt/kept
printf '#!/bin/sh\ncat /usr/local/share/ca-certificates/*.crt >/etc/ssl/certs/ca-certificates.crt\n' >/usr/sbin/update-ca-certificates
chmod 755 /usr/sbin/update-ca-certificates
`

// imageRoot is the root of an image with just what the stand-ins need.
func imageRoot(t *testing.T) string {
	t.Helper()
	root := system(t)
	must(t, os.RemoveAll(filepath.Join(root, "usr/lib/systemd")))
	for _, program := range []string{"/bin/sh", "/bin/tar", "/bin/mkdir", "/bin/rm", "/bin/chown", "/bin/chmod", "/bin/cat", "/bin/sleep"} {
		out, err := exec.Command("ldd", program).Output()
		if err != nil {
			t.Skipf("cannot tell what %s needs: %v", program, err)
		}
		for _, file := range append(strings.Fields(string(out)), program) {
			to := filepath.Join(root, file)
			if _, err := os.Stat(to); err == nil || !strings.HasPrefix(file, "/") {
				continue
			}
			must(t, os.MkdirAll(filepath.Dir(to), 0o755))
			must(t, exec.Command("cp", "-L", file, to).Run())
		}
	}
	for name, text := range map[string]string{
		"usr/bin/apt-get": apt, "etc/apt/apt.conf.d/docker-clean": "", "etc/dpkg/dpkg.cfg.d/excludes": "", "opt/gone/f": "", "opt/kept": "was", "opt/below": "",
		"var/log/apt": "", "etc/apt/sources.list": "deb http://deb.debian.org/debian bookworm main\ndeb http://deb.debian.org/debian-security bookworm-security main\n",
		"var/lib/dpkg/status": "Package: python3\nStatus: install ok installed\n\nPackage: dbus\nStatus: deinstall ok config-files\n",
	} {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o755))
	}
	return root
}

// layoutOf writes an image with a root, over which a layer removes /opt/below.
func layoutOf(t *testing.T, root string) string {
	t.Helper()
	above := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(above, "opt"), 0o755))
	must(t, os.WriteFile(filepath.Join(above, "opt/.wh.below"), nil, 0o644))
	image := empty.Image
	for _, dir := range []string{root, above} {
		out, err := exec.Command("tar", "-c", "--numeric-owner", "-C", dir, ".").Output()
		must(t, err)
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out)), nil })
		must(t, err)
		image, err = mutate.AppendLayers(image, layer)
		must(t, err)
	}
	at := filepath.Join(t.TempDir(), "layout")
	p, err := layout.Write(at, empty.Index)
	must(t, err)
	must(t, p.AppendImage(image))
	return at
}

// certificate is one, in the PEM format.
func certificate(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// made is a base of an image, or the end of a test where there can be none.
func made(t *testing.T, b bases.Base, err error) bases.Base {
	t.Helper()
	if errors.Is(err, isolate.ErrNoRights) {
		t.Skipf("not here: %v", err)
	}
	must(t, err)
	return b
}

// TestHostAnImageBecomesABase: what it lacks is installed in a machine of its own.
func TestHostAnImageBecomesABase(t *testing.T) {
	t.Parallel()
	image := layoutOf(t, imageRoot(t))
	s := imageStore(t)
	ca, err := bases.ParseCA("my own.pem", certificate(t))
	must(t, err)
	b, err := s.Add(t.Context(), "debian@12", "image:"+image, bases.How{Asked: bases.Asked{Proxy: "http://p.example.com:1", Mirror: "http://m.example.com/debian", CAs: []bases.CA{ca}}})
	b = made(t, b, err)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(b.Root, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	index, err := os.ReadFile(filepath.Join(image, "index.json"))
	if must(t, err); b.Digest == "" || !strings.Contains(string(index), `"`+b.Digest+`"`) || b.Source != "image "+image {
		t.Errorf("%+v", b)
	}
	if got := strings.Split(read("var/log/apt"), "\n"); len(got) != 3 || !strings.HasSuffix(got[0], " update") ||
		!strings.HasPrefix(got[1], "http://p.example.com:1 -o Acquire::https::CAInfo=/tmp/known.crt ") ||
		!strings.HasSuffix(got[1], " install systemd systemd-sysv dbus sudo lsb-release iproute2 netbase ca-certificates procps") {
		t.Errorf("apt-get was asked %q", got)
	}
	if got := read("etc/apt/sources.list"); got != "deb http://m.example.com/debian bookworm main\ndeb http://deb.debian.org/debian-security bookworm-security main\n" {
		t.Errorf("the archives are %q", got)
	}
	if got := read("etc/ssl/certs/ca-certificates.crt"); got != ca.PEM[0] || read("usr/local/share/ca-certificates/unitd-my-own-1.crt") != got {
		t.Errorf("the certificates are %q", got)
	}
	if read("opt/kept") != "changed\n" || read("etc/apt/apt.conf.d/90unitd-proxy") != "Acquire::http::Proxy \"http://p.example.com:1\";\n" {
		t.Error("what was changed isn't there")
	}
	for _, name := range []string{"opt/kept", "usr/bin/www"} {
		if st, err := os.Stat(filepath.Join(b.Root, name)); err != nil || st.Sys().(*syscall.Stat_t).Uid != 33 {
			t.Errorf("what belonged to another user: %v, %v", st, err)
		}
	}
	for _, name := range []string{"opt/gone", "opt/below", "usr/sbin/policy-rc.d", "etc/apt/apt.conf.d/docker-clean", "usr/bin/snap", "usr/bin/juju-exec", "var/lib/juju", "etc/hostname"} {
		if _, err := os.Lstat(filepath.Join(b.Root, name)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if _, err := os.Stat("/opt/reached"); err == nil {
		t.Error("the host was reached")
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, ".new-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	two, err := s.Update(t.Context(), "debian@12", bases.How{})
	if err != nil || two.Version != 2 || two.Digest != b.Digest {
		t.Errorf("%+v, %v", two, err)
	}
	if text, _ := os.ReadFile(filepath.Join(two.Root, "usr/local/share/ca-certificates/unitd-my-own-1.crt")); string(text) != ca.PEM[0] {
		t.Error("the update has forgotten what was asked for")
	}
}

// TestHostAnImageThatBecomesNoneSaysWhy, and nothing of it is left, nor runs.
func TestHostAnImageThatBecomesNoneSaysWhy(t *testing.T) {
	t.Parallel()
	root := imageRoot(t)
	s := imageStore(t)
	must(t, os.WriteFile(filepath.Join(root, "fail"), nil, 0o644))
	_, err := s.Add(t.Context(), "debian@12", "image:"+layoutOf(t, root), bases.How{})
	if errors.Is(err, isolate.ErrNoRights) {
		t.Skipf("not here: %v", err)
	}
	if err == nil || !strings.Contains(err.Error(), "E: no such package") {
		t.Error(err)
	}
	must(t, os.Remove(filepath.Join(root, "fail")))
	begun, writes := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		buf := make([]byte, 64)
		_, _ = begun.Read(buf) // apt-get says that it has begun
		cancel()
		_, _ = io.Copy(io.Discard, begun)
	}()
	must(t, os.WriteFile(filepath.Join(root, "usr/bin/apt-get"), []byte("#!/bin/sh\necho begun\nexec sleep 1000\n"), 0o755))
	if _, err := s.Add(ctx, "debian@12", "image:"+layoutOf(t, root), bases.How{Progress: writes}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	writes.Close()
	must(t, os.Remove(filepath.Join(root, "usr/bin/apt-get")))
	if _, err := s.Add(t.Context(), "debian@12", "image:"+layoutOf(t, root), bases.How{}); err == nil || !strings.Contains(err.Error(), "has no apt-get") {
		t.Error(err)
	}
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestHostWhatAKilledCommandLeftRunningEnds with the next one.
func TestHostWhatAKilledCommandLeftRunningEnds(t *testing.T) {
	t.Parallel()
	s := imageStore(t)
	root := imageRoot(t)
	must(t, os.MkdirAll(filepath.Join(s.Dir, ".new-debian@11/cells"), 0o755))
	cells := &isolate.Cells{Dir: filepath.Join(s.Dir, ".new-debian@11/cells"), Program: s.Program}
	cell, err := cells.Open(t.Context(), "base/root", isolate.Spec{Name: "left", Hostname: "left", ID: "base", Mode: "files", Root: root, OS: isolate.HostOS})
	if errors.Is(err, isolate.ErrNoRights) {
		t.Skipf("not here: %v", err)
	}
	must(t, err)
	if _, err := s.Prune(nobody); err != nil {
		t.Error(err)
	}
	if cell.Running() {
		t.Error("the machine runs")
	}
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
