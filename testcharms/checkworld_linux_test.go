package testcharms_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/check"
	"github.com/unitd/unitd/testcharms"
)

// worldOf is the report of a short check, and the lines that it has carried out.
func worldOf(t *testing.T, charm string, flags ...string) (r check.Report, lines []string) {
	t.Helper()
	args := append([]string{"check", charm, "--json", "-v", "--for", "1s", "--seed", "1", "--only", check.Settles}, flags...)
	cmd := exec.Command(unitd(t), args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s%s", err, out, said.String())
	}
	return r, strings.Split(said.String(), "\n")
}

// published are the words of the last line that begins so, such as "stub-set UNIT".
func published(t *testing.T, lines []string, command string) string {
	t.Helper()
	for _, line := range slices.Backward(lines) {
		if _, words, ok := strings.Cut(line, command+" "); ok {
			return words
		}
	}
	t.Fatalf("nothing was published:\n%s", strings.Join(lines, "\n"))
	return ""
}

func one(t *testing.T, r check.Report, from check.Source, keys int) {
	t.Helper()
	if len(r.World) != 1 || r.World[0] != (check.Origin{Endpoint: "db", Source: from, Keys: keys}) {
		t.Errorf("the world is %v", r.World)
	}
}

// TestHostCheckLearnsFromAPartner: the stub publishes what the ledger does, from an address of its
// own.
func TestHostCheckLearnsFromAPartner(t *testing.T) {
	t.Parallel()
	mayCheck(t)
	r, lines := worldOf(t, testcharms.Copy(t, "shop"), "--partner", "db="+testcharms.Copy(t, "ledger"))
	one(t, r, check.Partnered, 5)
	if len(r.Odd) > 0 {
		t.Error(r.Odd)
	}
	words := published(t, lines, "stub-set other-db/0")
	if !strings.HasPrefix(words, "host=10.77.3.2 password=") || !strings.HasSuffix(words, " port=5432 title=General ledger user=shop") {
		t.Error(words)
	}
}

// TestHostCheckLearnsAPartnersSecret: the stub has one of its own, with the same keys, and publishes
// its URI where the mint publishes that of its own.
func TestHostCheckLearnsAPartnersSecret(t *testing.T) {
	t.Parallel()
	mayCheck(t)
	venv := venvOfOps(t)
	r, lines := worldOf(t, testcharms.CopyPython(t, "purse", venv), "--partner", "coin="+testcharms.CopyPython(t, "mint", venv))
	if len(r.World) != 1 || r.World[0] != (check.Origin{Endpoint: "coin", Source: check.Partnered, Keys: 2}) || len(r.Odd)+len(r.Findings) > 0 {
		t.Errorf("the world is %v; %v %v", r.World, r.Odd, r.Findings)
	}
	if words := published(t, lines, "add-secret coin-die"); !strings.HasPrefix(words, "word=open-first-of-coin-die ") {
		t.Errorf("the secret has %s", words)
	}
	if words := published(t, lines, "stub-set --app other-coin"); !strings.HasPrefix(words, "die=secret:") || !strings.HasSuffix(words, " metal=copper") {
		t.Error(words)
	}
}

// TestHostCheckGoesOnWithoutAPartnerThatFails, and says so.
func TestHostCheckGoesOnWithoutAPartnerThatFails(t *testing.T) {
	t.Parallel()
	mayCheck(t)
	ledger := testcharms.Copy(t, "ledger")
	if err := os.WriteFile(filepath.Join(ledger, "hooks", "install"), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, _ := worldOf(t, testcharms.Copy(t, "shop"), "--partner", "db="+ledger)
	if len(r.Odd) != 1 || !strings.Contains(r.Odd[0], "the partner of db: ") || !strings.Contains(r.Odd[0], "other-db/0: hook failed") {
		t.Errorf("%q", r.Odd)
	}
	one(t, r, check.Asked, 5) // its code has no words in quotes, and its hooks ask for the keys
}

// TestHostCheckLearnsFromARecording of a hook that has read what the ledger published.
func TestHostCheckLearnsFromARecording(t *testing.T) {
	t.Parallel()
	mayCheck(t)
	dir := t.TempDir()
	recorded, scenario := filepath.Join(dir, "run.txtar"), filepath.Join(dir, "record.txtar")
	text := fmt.Sprintf("deploy %s\ndeploy %s\nsettle\nintegrate shop ledger\nsettle\nunitd record shop/0 -o %s\n", testcharms.Copy(t, "ledger"), testcharms.Copy(t, "shop"), recorded)
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(unitd(t), "test", "--isolate=off", scenario).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, lines := worldOf(t, testcharms.Copy(t, "shop"), "--recording", recorded)
	one(t, r, check.Recorded, 5)
	words := published(t, lines, "stub-set other-db/0")
	if words != "host=10.77.3.2 port=5432 user=shop password=password-of-other-db-0 title=General ledger" {
		t.Error(words)
	}
}
