package workload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/workload"
)

func TestAnOlderPebbleLacksWhatCameLater(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ version, want string }{
		{"v1.4.0", "custom-notice hooks; the image's own layers (PEBBLE_COPY_ONCE); check-failed and check-recovered hooks; the access of charms that don't run as root (--identities)"},
		{"v1.10.2", "check-failed and check-recovered hooks; the access of charms that don't run as root (--identities)"},
		{"v1.14.1-dev", "the access of charms that don't run as root (--identities)"},
		{"v1.15.0", ""},
		{"v1.32.1", ""},
		{"v2.0.0", ""},
		{"v0.9.9", "custom-notice hooks; the image's own layers (PEBBLE_COPY_ONCE); check-failed and check-recovered hooks; the access of charms that don't run as root (--identities)"},
		{"unknown", ""},
		{"v99999999999999999999.1.0", ""},
		{"", ""},
	} {
		if got := strings.Join(workload.Lacks(row.version), "; "); got != row.want {
			t.Errorf("%q lacks %q, want %q", row.version, got, row.want)
		}
	}
}

func TestAPebbleIsAskedForItsVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pebble")
	for text, want := range map[string]string{
		"#!/bin/sh\n[ \"$*\" = 'version --client' ] && echo v1.12.0": "v1.12.0",
		"#!/bin/sh\nexit 1":            "",
		"#!/bin/sh\nprintf 'a\\nb\\n'": "",
		"#!/bin/sh\n":                  "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := workload.VersionOf(t.Context(), path)
		if (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

func TestARockSaysThatItStartsPebble(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]bool{
		"/usr/bin/pebble enter": true, "/bin/pebble enter --verbose": true, "pebble run": true, "/opt/pebbles": false, "/bin/sh -c pebble": false, "": false,
	} {
		if got := workload.StartsPebble(strings.Fields(words)); got != want {
			t.Errorf("%q: got %v", words, got)
		}
	}
}
