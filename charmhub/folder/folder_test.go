package folder_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/charmhub/folder"
	"github.com/unitd/unitd/charmhub/hubtest"
)

// client is one of a directory, without a network.
func client(t *testing.T, dir string) *charmhub.Client {
	t.Helper()
	hub, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := charmhub.New(hub.URL())
	c.HTTP, c.Architecture, c.Cache = hub, "amd64", &charmhub.Cache{Dir: t.TempDir()}
	t.Cleanup(c.Cache.LetGo)
	return c
}

func write(t *testing.T, dir, file, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFilesAreReleasedByTheirNames is the rule of the package's comment.
func TestFilesAreReleasedByTheirNames(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with space")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	metadata := "name: ledger\nresources: {seed_data: {type: file, filename: seed.tar}, other: {type: file, filename: o}}\n"
	for _, file := range []string{"ledger_ubuntu-24.04-amd64.charm", "anything_r5_candidate_14-stable.charm", "ledger_r3_1.2-rc-edge.charm", "ledger_r4.charm"} {
		hubtest.Charm(t, filepath.Join(dir, file), map[string]string{"metadata.yaml": metadata})
	}
	hubtest.Charm(t, filepath.Join(dir, "harbour_r7.bundle"), map[string]string{"bundle.yaml": "applications: {ledger: {charm: ledger}}\n"})
	write(t, dir, "ledger.seed_data_r4.tar", "four")
	write(t, dir, "ledger.seed_data_r12.tar", "twelve")
	write(t, dir, "README", "passed over")
	c := client(t, dir)
	for _, want := range []struct {
		name, channel string
		revision      int
	}{
		{"ledger", "", 4}, {"ledger", "latest/stable", 4}, {"ledger", "candidate", 5}, {"ledger", "edge", 5}, {"ledger", "14", 5}, {"ledger", "14/edge", 5},
		{"ledger", "1.2-rc/edge", 3}, {"harbour", "", 7},
	} {
		w := charmhub.Want{Name: want.name, Revision: charmhub.Latest}
		if want.channel != "" {
			w.Channel, _ = charmhub.ParseChannel(want.channel)
		}
		r, err := c.Install(t.Context(), w)
		if err != nil || r.Revision != want.revision {
			t.Errorf("%s %q: revision %d, %v, want %d", want.name, want.channel, r.Revision, err, want.revision)
			continue
		}
		if path, err := c.Fetch(t.Context(), r); err != nil || !strings.HasPrefix(path, c.Cache.Dir) {
			t.Errorf("%s %q: %s, %v", want.name, want.channel, path, err)
		}
		if want.name == "ledger" && (len(r.Resources) != 1 || r.Resources[0].Revision != 12 || r.Resources[0].Filename != "seed.tar") {
			t.Errorf("%q: resources %+v", want.channel, r.Resources)
		}
	}
	for _, file := range []string{"gauge_r1_9-stable.charm", "gauge_r2_14-stable.charm", "gauge_r3_2.10-stable.charm"} {
		hubtest.Charm(t, filepath.Join(dir, file), map[string]string{"metadata.yaml": "name: gauge\nresources: {jdk-17: {type: file, filename: jdk}}\n"})
	}
	write(t, dir, "gauge.jdk-17_r1.tar", "java")
	tracks, err := client(t, dir).Install(t.Context(), charmhub.Want{Name: "gauge", Revision: charmhub.Latest})
	if err != nil || tracks.Channel.Track != "14" || len(tracks.Resources) != 1 || tracks.Resources[0].Name != "jdk-17" {
		t.Errorf("the default track: %+v, %v", tracks, err)
	}
	if r, err := c.Install(t.Context(), charmhub.Want{Name: "ledger", Revision: 0}); err != nil || r.Revision != 0 {
		t.Errorf("without a revision: %d, %v", r.Revision, err)
	}
	res, err := c.ResourceRevision(t.Context(), "ledger", "seed_data", 4)
	if err != nil {
		t.Fatal(err)
	}
	path, err := c.FetchResource(t.Context(), "ledger", res)
	if b, readErr := os.ReadFile(path); err != nil || string(b) != "four" {
		t.Errorf("the resource is %q, %v, %v", b, err, readErr)
	}
	if _, err := c.ResourceRevision(t.Context(), "ledger", "seed_data", 5); err == nil || err.Error() != `resource "seed_data" of "ledger" has no revision 5: there are 12, 4` {
		t.Errorf("another revision: %v", err)
	}
	info, err := c.Info(t.Context(), "harbour", charmhub.Channel{})
	if err != nil || info.Type != charmhub.TypeBundle || len(info.Result.Contains) != 1 || info.Result.Contains[0].Name != "ledger" {
		t.Errorf("info: %+v, %v", info, err)
	}
	found, err := c.Find(t.Context(), charmhub.Query{Text: "LEDG", Channel: "14/stable"})
	if err != nil || len(found) != 1 || found[0].Name != "ledger" {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestWhatCannotBeAHubSaysWhy(t *testing.T) {
	t.Parallel()
	twice, broken := t.TempDir(), t.TempDir()
	for _, file := range []string{"a.charm", "b.charm"} {
		hubtest.Charm(t, filepath.Join(twice, file), map[string]string{"metadata.yaml": "name: ledger\n"})
	}
	write(t, broken, "x.charm", "no archive")
	for dir, want := range map[string]string{
		filepath.Join(twice, "nosuch"): "there is no directory",
		twice:                          `a.charm and b.charm are both revision 0 of "ledger": have one say another, as in ledger_r1`,
		broken:                         "x.charm: cannot read charm",
	} {
		if _, err := folder.Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := folder.Open(filepath.Join(twice, "nosuch")); !errors.Is(err, errors.NotFound) {
		t.Errorf("got %v", err)
	}
}

// TestNothingBesideTheDirectoryIsServed over a network.
func TestNothingBesideTheDirectoryIsServed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hub")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(dir), "secret", "secret")
	s := hubtest.Start(dir)
	defer s.Close()
	for _, path := range []string{"/files/../secret", "/files/%2e%2e/secret", "/files/..%2fsecret"} {
		resp, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if strings.Contains(string(b), "secret") && resp.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, b)
		}
	}
}
