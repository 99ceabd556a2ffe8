package telemetry_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
	"github.com/unitd/unitd/telemetry"
)

func newMeter(t *testing.T, see func(context.Context) (telemetry.Sight, error)) *telemetry.Meter {
	t.Helper()
	m, err := telemetry.NewMeter(telemetry.Version{Version: "1.2.3", Commit: "abc"}, see)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func nothing(context.Context) (telemetry.Sight, error) { return telemetry.Sight{Free: -1}, nil }

// ask asks a server, with a token if there is one.
func ask(t *testing.T, s *telemetry.Server, path, token string) (code int, body string, header http.Header) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

func TestWhatIsMeasuredIsServedAsPrometheusWantsIt(t *testing.T) {
	t.Parallel()
	m := newMeter(t, func(context.Context) (telemetry.Sight, error) {
		return telemetry.Sight{
			Units:      map[telemetry.Counted]int64{{Model: "m", Application: "shop", State: "active"}: 3, {Model: "m", Application: `o"dd\`, State: "error"}: 1},
			Containers: map[telemetry.Counted]int64{{Model: "m", Application: "shop", State: "running"}: 2},
			Machines:   map[telemetry.Counted]int64{{Model: "m", State: "present"}: 4},
			Executing:  map[string]int64{"m": 1}, Free: 1 << 30, Trouble: true,
		}, nil
	})
	run := func(outcome history.Outcome) {
		m.Observe(machine.Event{Kind: machine.HookRun, Model: "m", Unit: "shop/0", Run: history.Entry{
			Name: "db-relation-changed", Hook: hooks.Info{Kind: hooks.RelationChanged}, Outcome: outcome, Duration: 20 * time.Millisecond,
			Calls: []history.Call{{Tool: "relation-get", Took: 100 * time.Microsecond}, {Tool: "relation-set", Code: 1, Took: time.Second}},
		}})
	}
	run(history.Failed)
	run(history.Failed)
	run(history.Committed)
	run(history.Committed) // is no retry
	other := func(outcome history.Outcome) {
		m.Observe(machine.Event{Kind: machine.HookRun, Model: "other", Unit: "shop/0", Run: history.Entry{Name: "start", Hook: hooks.Info{Kind: hooks.Start}, Outcome: outcome, Tools: 100}})
	}
	other(history.Failed)
	m.Observe(machine.Event{Kind: machine.HookRun, Model: "m", Unit: "shop/0", Run: history.Entry{Name: "start", Hook: hooks.Info{Kind: hooks.Start}, Outcome: history.Committed}})
	other(history.Committed) // the run between was another unit's
	for _, w := range []machine.Wait{{}, {}, {Over: true, Took: 2 * time.Second}} {
		m.Observe(machine.Event{Kind: machine.HookWait, Model: "m", Unit: "shop/0", Wait: w})
	}
	m.Observe(machine.Event{Kind: machine.LogLine, Model: "m", Unit: "shop/0", Log: debuglog.Entry{Level: "INFO"}})

	_, body, header := ask(t, &telemetry.Server{Meter: m}, "/metrics", "")
	for _, want := range []string{
		`unitd_hook_duration_seconds_count{application="shop",hook="relation-changed",model="m",outcome="failed"} 2`,
		`unitd_hook_duration_seconds_bucket{application="shop",hook="relation-changed",model="m",outcome="committed",le="0.01"} 0`,
		`unitd_hook_duration_seconds_bucket{application="shop",hook="relation-changed",model="m",outcome="committed",le="0.025"} 2`,
		`unitd_hook_duration_seconds_bucket{application="shop",hook="relation-changed",model="m",outcome="committed",le="+Inf"} 2`,
		`unitd_hook_duration_seconds_sum{application="shop",hook="relation-changed",model="m",outcome="committed"} 0.04`,
		`unitd_hook_retries_total{application="shop",hook="relation-changed",model="m"} 2`,
		`unitd_hook_retries_total{application="shop",hook="start",model="other"} 1`,
		`unitd_hook_tool_calls_total{application="shop",hook="start",model="other"} 200`,
		`unitd_units_waiting{model="m"} 1`, `unitd_hook_wait_duration_seconds_count{model="m"} 1`, `unitd_hook_wait_duration_seconds_sum{model="m"} 2`,
		`unitd_hook_tool_duration_seconds_count{failed="true",tool="relation-set"} 4`,
		`unitd_log_lines_total{level="INFO",model="m"} 1`,
		`unitd_units{application="shop",model="m",status="active"} 3`,
		`unitd_units{application="o\"dd\\",model="m",status="error"} 1`,
		`unitd_containers{application="shop",model="m",state="running"} 2`,
		`unitd_machines{agent="present",model="m"} 4`, `unitd_units_executing{model="m"} 1`, `unitd_disk_free_bytes 1073741824`,
		`unitd_store_trouble 1`, `unitd_build_info{commit="abc",go="go`, `version="1.2.3"} 1`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s in\n%s", want, body)
		}
	}
	if header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" || header.Get("X-Unitd-Incomplete") != "" {
		t.Errorf("the header is %v", header)
	}
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the linter of Prometheus says %v, %v", problems, err)
	}
	if _, again, _ := ask(t, &telemetry.Server{Meter: m}, "/metrics", ""); stable(again) != stable(body) {
		t.Error("the same isn't written the same way again")
	}
}

// stable is what doesn't change by itself.
func stable(body string) string {
	var out []string
	for _, line := range strings.Split(body, "\n") {
		if !strings.HasPrefix(line, "unitd_process") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func TestWhatCannotBeLookedAtHidesNothingElse(t *testing.T) {
	t.Parallel()
	m := newMeter(t, func(context.Context) (telemetry.Sight, error) {
		return telemetry.Sight{}, errors.New("the store\nis away")
	})
	m.Observe(machine.Event{Kind: machine.HookRun, Unit: "shop/0", Run: history.Entry{Outcome: history.Committed}})
	code, body, header := ask(t, &telemetry.Server{Meter: m}, "/metrics", "")
	if code != 200 || !strings.Contains(body, "unitd_hook_duration_seconds_count") || !strings.Contains(header.Get("X-Unitd-Incomplete"), "the store is away") {
		t.Errorf("it answers %d, %v: %s", code, header, body)
	}
}

// conflicted is a store whose transactions are tried twice, as those that have read what somebody
// else has written meanwhile.
type conflicted struct{ store.Store }

// Update is part of store.Store.
func (c conflicted) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	lost := errors.New("somebody else has written what it has read")
	if _, err := c.Store.Update(ctx, func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return lost
	}); err != lost {
		return 0, err
	}
	return c.Store.Update(ctx, fn, opts...)
}

// TestTransactionsAreMeasured: with those that are tried again, and an error that is none of
// the store's.
func TestTransactionsAreMeasured(t *testing.T) {
	t.Parallel()
	m := newMeter(t, nothing)
	s := m.Store(conflicted{memory.New(clock.WallClock)})
	ctx, wanted := t.Context(), errors.New("wanted")
	if _, err := s.Update(ctx, func(tx store.Tx) error { return tx.Put("k", []byte("v")) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.View(ctx, func(store.Reader) error { return wanted }); err != wanted {
		t.Errorf("its error is %v", err)
	}
	if _, err := s.Update(ctx, func(store.Tx) error { return wanted }); err != wanted {
		t.Errorf("its error is %v", err)
	}
	lease, err := s.Grant(ctx, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.KeepAlive(ctx, lease); err != nil {
		t.Error(err)
	}
	if err := s.Revoke(ctx, lease); err != nil {
		t.Error(err)
	}
	if err := s.KeepAlive(ctx, lease); !errors.Is(err, errors.NotFound) {
		t.Errorf("a lease that is over: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.View(ctx, func(store.Reader) error { return nil }); err == nil {
		t.Error("a closed store can be read")
	}
	_, body, _ := ask(t, &telemetry.Server{Meter: m}, "/metrics", "")
	for _, want := range []string{`unitd_store_transaction_duration_seconds_count{kind="read"} 2`, `unitd_store_transaction_duration_seconds_count{kind="update"} 2`, `unitd_store_errors_total{kind="read"} 1`, `unitd_store_conflicts_total 1`,
		`unitd_store_lease_duration_seconds_count{kind="grant"} 1`, `unitd_store_lease_duration_seconds_count{kind="keep"} 2`, `unitd_store_lease_duration_seconds_count{kind="end"} 1`, `unitd_store_leases_lost_total 1`} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s in\n%s", want, body)
		}
	}
	if strings.Contains(body, `unitd_store_errors_total{kind="update"}`) {
		t.Error("an error of who asks counts as the store's")
	}
}

func TestHealthIsToldToWhoHasTheToken(t *testing.T) {
	t.Parallel()
	ready, wrong := false, error(nil)
	s := &telemetry.Server{Meter: newMeter(t, nothing), Ready: func() bool { return ready }, Well: func(context.Context) error { return wrong }, Token: "a secret of some length"}
	expect := func(path, token string, want int, text string) {
		t.Helper()
		if code, body, _ := ask(t, s, path, token); code != want || !strings.Contains(body, text) {
			t.Errorf("%s: %d %s, want %d %s", path, code, body, want, text)
		}
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/else"} {
		expect(path, "", 401, "bearer token")
		expect(path, "another", 401, "bearer token")
	}
	expect("/healthz", s.Token, 200, "ok")
	expect("/readyz", s.Token, 503, "is starting")
	ready = true
	expect("/readyz", s.Token, 200, "ok")
	wrong = errors.New("the store can't be written to")
	expect("/healthz", s.Token, 503, "can't be written to")
	expect("/readyz", s.Token, 503, "can't be written to")
	expect("/else", s.Token, 404, "")
}

func TestOthersAreServedOnlyWithTLSAndAToken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		listen telemetry.Listen
		want   string
	}{
		{telemetry.Listen{Address: "127.0.0.1:9464"}, ""},
		{telemetry.Listen{Address: "localhost:0"}, ""},
		{telemetry.Listen{Address: "[::1]:1"}, ""},
		{telemetry.Listen{Address: "9464"}, "expected HOST:PORT"},
		{telemetry.Listen{Address: ":9464"}, "can be reached by others"},
		{telemetry.Listen{Address: "0.0.0.0:9464"}, "can be reached by others"},
		{telemetry.Listen{Address: "host.example:9464", Cert: "c", Key: "k"}, "needs --listen-cert, --listen-key and --listen-token"},
		{telemetry.Listen{Address: "host.example:9464", Token: "t"}, "can be reached by others"},
		{telemetry.Listen{Address: "host.example:9464", Cert: "c", Key: "k", Token: "t"}, ""},
		{telemetry.Listen{Address: "127.0.0.1:9464", Cert: "c"}, "go together"},
	} {
		err := test.listen.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.listen, err, test.want)
		}
	}
}

func TestItIsServedWithTLSAndAToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, roots := certificate(t, dir)
	token := filepath.Join(dir, "token")
	write(t, token, "short\n")
	l := telemetry.Listen{Address: "127.0.0.1:0", Cert: cert, Key: key, Token: token}
	s := &telemetry.Server{Meter: newMeter(t, nothing), Ready: func() bool { return true }, Well: func(context.Context) error { return nil }}
	if _, _, err := l.Start(s); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Errorf("a short token: %v", err)
	}
	write(t, token, "long enough to be one\n")
	address, end, err := l.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	get := func(token string) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, err
	}
	if code, err := get("long enough to be one"); code != 200 {
		t.Errorf("with the token: %d, %v", code, err)
	}
	if code, err := get("long enough to be two"); code != 401 {
		t.Errorf("with another token: %d, %v", code, err)
	}
	client.CloseIdleConnections()
	end()
	if code, err := get("long enough to be one"); err == nil {
		t.Errorf("after its end: %d", code)
	}
	l.Key = filepath.Join(dir, "none")
	if _, _, err := l.Start(s); err == nil || !strings.Contains(err.Error(), "cannot read the certificate") {
		t.Errorf("without a key: %v", err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certificate makes one for the loopback, and who trusts it.
func certificate(t *testing.T, dir string) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	as := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "unitd"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, as, as, &own.PublicKey, own)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, roots = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write(t, cert, string(b))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	roots.AppendCertsFromPEM(b)
	return cert, key, roots
}
