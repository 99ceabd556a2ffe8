package bases_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/bases"
)

// system makes a directory that looks like a root with systemd, and with what is another
// machine's.
func system(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("bases are root's")
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"etc/os-release": "ID=debian\nVERSION_ID=12\n", "etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n", "etc/shadow": "root:*::::::\n",
		"etc/machine-id": "0123\n", "var/lib/dbus/machine-id": "0123\n", "usr/sbin/policy-rc.d": "exit 101\n", "usr/lib/systemd/systemd": "", "usr/bin/www": "",
		"var/cache/apt/archives/a.deb": "x",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Join(root, "usr/bin/www"), 33, 33); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestABaseIsMadeWholeOnceAndOfNoOtherMachine, from a directory and from a tarball.
func TestABaseIsMadeWholeOnceAndOfNoOtherMachine(t *testing.T) {
	t.Parallel()
	root := system(t)
	for _, name := range []string{"etc/sudoers.d/90-unitd-ubuntu", "etc/apt/apt.conf.d/90unitd-proxy", "usr/lib/waits"} { // who opens it would wait
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ball := filepath.Join(t.TempDir(), "root.tar.gz")
	if out, err := exec.Command("tar", "-czf", ball, "-C", root, ".").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for _, from := range []string{root, ball} {
		s := bases.Of(t.TempDir())
		if err := os.MkdirAll(filepath.Join(s.Dir, ".new-debian@11/root"), 0o755); err != nil { // of one that was killed
			t.Fatal(err)
		}
		b, err := s.Add(t.Context(), "debian@12", from, bases.How{Asked: bases.Asked{Proxy: "http://p.example.com:1"}})
		if err != nil || b.Name != "debian@12" || b.Source != from || b.Made == "" {
			t.Fatalf("%+v, %v", b, err)
		}
		if text, _ := os.ReadFile(from); b.Digest != "" && b.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(text)) || (b.Digest == "") != (from == root) {
			t.Errorf("the digest is %q", b.Digest) // a root without a list of packages has none
		}
		for _, name := range []string{"var/lib/dbus/machine-id", "usr/sbin/policy-rc.d", "var/cache/apt/archives/a.deb", "usr/lib/waits", "../../.new-debian@11"} {
			if _, err := os.Lstat(filepath.Join(b.Root, name)); !os.IsNotExist(err) {
				t.Errorf("%s is there: %v", name, err)
			}
		}
		id, err := os.ReadFile(filepath.Join(b.Root, "etc/machine-id"))
		people, _ := os.ReadFile(filepath.Join(b.Root, "etc/passwd"))
		if err != nil || len(id) > 0 || !strings.Contains(string(people), "ubuntu:x:1000:1000:") {
			t.Errorf("machine-id %q, %v; users %q", id, err, people)
		}
		if st, err := os.Stat(filepath.Join(b.Root, "usr/bin/www")); err != nil || st.Sys().(*syscall.Stat_t).Uid != 33 {
			t.Errorf("what belonged to another user: %v, %v", st, err)
		}
		if _, err := s.Add(t.Context(), "debian@12", from, bases.How{}); !errors.Is(err, errors.AlreadyExists) {
			t.Errorf("a second one: %v", err)
		}
		all, err := s.List()
		if err != nil || len(all) != 1 || all[0] != b {
			t.Errorf("%+v, %v", all, err)
		}
		if err := s.Remove("debian@12"); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(s.Dir); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
	if st, err := os.Stat(filepath.Join(root, "etc/machine-id")); err != nil || st.Size() == 0 {
		t.Errorf("where it is from was changed: %v", err)
	}
}

// TestWhatIsNoBaseIsRefused, and nothing of it is left.
func TestWhatIsNoBaseIsRefused(t *testing.T) {
	t.Parallel()
	root := system(t)
	s := bases.Of(t.TempDir())
	if err := os.Remove(filepath.Join(root, "usr/lib/systemd/systemd")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, from, why string }{
		{"debian@12", root, "it has no systemd"},
		{"debian@12", t.TempDir(), "it is no system"},
		{"debian@12", filepath.Join(root, "none"), "there is no "},
		{"debian@12", filepath.Join(root, "etc/passwd"), "tar says"},
		{"debian", root, `base "debian" is not valid`},
		{"../x@1", root, "is not valid"},
	} {
		if _, err := s.Add(t.Context(), c.name, c.from, bases.How{}); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s from %s: %v, want %q", c.name, c.from, err, c.why)
		}
	}
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	for _, c := range []struct{ name, why string }{{"debian@12", "unitd base fetch debian@12"}, {"x", "is not valid"}} {
		if _, err := s.Find(c.name); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := s.Remove("debian@12"); !errors.Is(err, errors.NotFound) {
		t.Error(err)
	}
	if _, err := s.Fetch(t.Context(), "debian@1", bases.How{}); !errors.Is(err, errors.NotSupported) {
		t.Error(err)
	}
}

// TestABaseIsFetchedByDebootstrap, which is told the archive and the proxy.
func TestABaseIsFetchedByDebootstrap(t *testing.T) {
	root := system(t)
	if err := os.MkdirAll(filepath.Join(root, "etc/apt/apt.conf.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := "#!/bin/sh\necho $http_proxy $* >" + bin + "/asked\n[ $3 = bookworm ] || { echo 'E: no such suite'; exit 1; }\ncp -a " + root + "/. $4\n"
	if err := os.WriteFile(filepath.Join(bin, "debootstrap"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s := bases.Of(t.TempDir())
	b, err := s.Fetch(t.Context(), "debian@12", bases.How{Asked: bases.Asked{Mirror: "http://m.example.com", Proxy: "http://p.example.com:1"}})
	if err != nil {
		t.Fatal(err)
	}
	asked, _ := os.ReadFile(filepath.Join(bin, "asked"))
	proxy, _ := os.ReadFile(filepath.Join(b.Root, "etc/apt/apt.conf.d/90unitd-proxy"))
	if !strings.HasPrefix(string(asked), "http://p.example.com:1 --variant=minbase ") || !strings.HasSuffix(string(asked), " http://m.example.com\n") || string(proxy) != "Acquire::http::Proxy \"http://p.example.com:1\";\n" {
		t.Errorf("debootstrap was asked %q, the base has the proxy %q", asked, proxy)
	}
	if _, err := s.Fetch(t.Context(), "debian@13", bases.How{}); err == nil || !strings.Contains(err.Error(), `debootstrap says "E: no such suite"`) {
		t.Error(err)
	}
}
