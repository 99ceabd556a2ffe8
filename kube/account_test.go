package kube_test

import (
	"crypto/rand"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/kube"
)

func TestTheVariablesSayWhereTheServerIs(t *testing.T) {
	t.Parallel()
	want := []string{
		"KUBERNETES_PORT=tcp://10.0.0.1:443", "KUBERNETES_PORT_443_TCP=tcp://10.0.0.1:443", "KUBERNETES_PORT_443_TCP_ADDR=10.0.0.1",
		"KUBERNETES_PORT_443_TCP_PORT=443", "KUBERNETES_PORT_443_TCP_PROTO=tcp", "KUBERNETES_SERVICE_HOST=10.0.0.1",
		"KUBERNETES_SERVICE_PORT=443", "KUBERNETES_SERVICE_PORT_HTTPS=443",
	}
	if got := kube.Environ("10.0.0.1", 443); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := kube.Environ("fd00::1", 443); got[0] != "KUBERNETES_PORT=tcp://[fd00::1]:443" || got[5] != "KUBERNETES_SERVICE_HOST=fd00::1" {
		t.Errorf("got %q", got)
	}
}

func TestTokensAreOfChance(t *testing.T) {
	t.Parallel()
	a, errA := kube.NewToken(rand.Reader)
	b, errB := kube.NewToken(rand.Reader)
	if errA != nil || errB != nil || a == b || len(a) != 43 {
		t.Errorf("%q %v, %q %v", a, errA, b, errB)
	}
	if _, err := kube.NewToken(strings.NewReader("little")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("with too little chance: %v", err)
	}
}

func TestAnAuthorityThatCannotBeReadSignsNothing(t *testing.T) {
	t.Parallel()
	if _, err := (kube.Authority{}).Serve(time.Now(), "127.0.0.1"); !errors.Is(err, errors.NotValid) {
		t.Errorf("got %v", err)
	}
}

func TestAServerNeedsWhatItAnswersFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []kube.Config{{}, {Application: "web", Unit: "web/0"}, {Application: "web", Unit: "web/0", Token: "t"}} {
		if _, err := kube.New(c); !errors.Is(err, errors.NotValid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
