package model_test

import (
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

func TestPublicationsAreReadAsTheyArePrinted(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"8080":                 "127.0.0.1:8080:8080",
		"8080:80":              "127.0.0.1:8080:80",
		"0.0.0.0:8080":         "0.0.0.0:8080:8080",
		"192.0.2.1:8080:80":    "192.0.2.1:8080:80",
		"127.0.0.1:65535:1":    "127.0.0.1:65535:1",
		"":                     "",
		"x":                    "",
		"0":                    "",
		"080":                  "",
		"65536":                "",
		"80:":                  "",
		":80":                  "",
		"80:80:80":             "",
		"192.0.2.1":            "",
		"192.0.2:80":           "",
		"192.0.2.256:80":       "",
		"192.0.2.01:80":        "",
		"localhost:80":         "",
		"192.0.2.1:80:80:80":   "",
		"192.0.2.1:80:80:80:1": "",
	} {
		p, err := model.ParsePublication(said)
		if err != nil {
			if want != "" || !errors.Is(err, errors.NotValid) {
				t.Errorf("%q: %v", said, err)
			}
			continue
		}
		if p.String() != want {
			t.Errorf("%q: got %s, want %q", said, p, want)
		}
	}
}

func FuzzParsePublication(f *testing.F) {
	f.Add("192.0.2.1:8080:80")
	f.Fuzz(func(t *testing.T, said string) {
		p, err := model.ParsePublication(said)
		if err != nil {
			return
		}
		if again, err := model.ParsePublication(p.String()); err != nil || again != p {
			t.Errorf("%q: %+v is read again as %+v, %v", said, p, again, err)
		}
	})
}

func TestPublicationsConflict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"8080:80", "8080:81", true},
		{"8080", "8081", false},
		{"0.0.0.0:8080", "8080", true},
		{"8080", "0.0.0.0:8080", true},
		{"192.0.2.1:8080", "192.0.2.2:8080", false},
	} {
		a, _ := model.ParsePublication(test.a)
		b, _ := model.ParsePublication(test.b)
		if got := a.Conflicts(b); got != test.want {
			t.Errorf("%s and %s: got %v", test.a, test.b, got)
		}
	}
}
