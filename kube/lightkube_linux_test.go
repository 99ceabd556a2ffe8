package kube_test

import (
	"bufio"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/kube"
)

// pythonOfLightkube is a Python with lightkube; without one the test is skipped.
func pythonOfLightkube(t *testing.T) (python, packages string) {
	t.Helper()
	venv := os.Getenv("UNITD_TEST_VENV")
	if venv == "" {
		venv = filepath.Join("..", ".venv")
	}
	packages, err := filepath.Abs(filepath.Join(venv, "lightkube"))
	if err == nil {
		_, err = os.Stat(packages)
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI has to run lightkube: %v", err)
		}
		t.Skipf("skipped: there is no environment with lightkube; \"make venv\" makes one (%v)", err)
	}
	return filepath.Join(filepath.Dir(packages), "bin", "python"), packages
}

// inPlace runs a command with the account's files where clients look for them: in
// a mount namespace of its own, so that the host has none.
const inPlace = `set -e
mount --make-rprivate /
mount -t tmpfs none /var/run
mkdir -p ` + kube.AccountDir + `
cp "$1"/* ` + kube.AccountDir + `
shift
exec "$@"
`

// TestHostLightkube: the real client, by its default constructor, does what
// charms and their libraries do.
func TestHostLightkube(t *testing.T) {
	t.Parallel()
	python, packages := pythonOfLightkube(t)
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can put the account's files where clients look for them")
	}
	secret, err := kube.NewToken(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	objects := &kube.Memory{}
	objects.SetModel(model())
	template := func() kube.Template {
		v, err := objects.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		of, err := kube.TemplateOf(v, "web")
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	server, err := kube.New(kube.Config{
		Application: "web", Unit: "web/0", Token: secret, Cluster: kube.NewCluster(objects, clock.WallClock),
	})
	if err != nil {
		t.Fatal(err)
	}
	address, ca := serveTLS(t, server)

	account := t.TempDir()
	for name, data := range kube.AccountFiles(secret, ca, "dev") {
		if err := os.WriteFile(filepath.Join(account, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	charm, err := filepath.Abs(filepath.Join("..", "testcharms", "kuby", "src"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := filepath.Abs(filepath.Join("testdata", "client.py"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", inPlace, "sh", account, python, client)
	cmd.Env = append(os.Environ(), kube.Environ("127.0.0.1", port)...)
	cmd.Env = append(cmd.Env, "PYTHONPATH="+packages+":"+charm, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	converse(t, cmd, func() {
		got := template()
		if c := got.Containers[1]; c.Limits != (kube.Resources{MilliCPU: 500, Memory: 1 << 30}) {
			t.Errorf("told %+v", got)
		}
		m := model()
		m.Applications[0].Units[0].ID, m.Applications[0].Units[0].Template = "new", got.Raw
		objects.SetModel(m)
	})
	if t.Failed() {
		return
	}
	if got := template().Containers[1].Env["A"]; got != "1" {
		t.Errorf("the patched environment has A=%q", got)
	}
	if got := template().Annotations["restarted"]; got != "now" {
		t.Errorf("the patched annotation is %q", got)
	}
}

// serveTLS serves on loopback, with a certificate of an authority of its own.
func serveTLS(t *testing.T, h http.Handler) (address string, ca []byte) {
	t.Helper()
	authority, err := kube.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := authority.Serve(time.Now(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), authority.Cert
}

// converse runs the client, and has its pods replaced when it asks for it.
func converse(t *testing.T, cmd *exec.Cmd, churn func()) {
	t.Helper()
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("skipped: no mount namespace can be made here: %v", err)
	}
	steps := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() != "churn" {
			steps++
			continue
		}
		churn()
		if _, err := io.WriteString(in, "done\n"); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil || steps != 8 {
		t.Errorf("lightkube did %d of 8 steps: %v\n%s", steps, err, said.String())
	}
}
