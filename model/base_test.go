package model_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

func TestABaseIsChosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ charm, given, ofModel, want string }{
		{"", "", "", ""},
		{"", "", "ubuntu@22.04", "ubuntu@22.04"},
		{"", "debian@12", "ubuntu@22.04", "debian@12"},
		{"ubuntu@23.10 ubuntu@24.04 ubuntu@22.04", "", "", "ubuntu@24.04"},
		{"ubuntu@23.10 centos@7", "", "", "ubuntu@23.10"},
		{"ubuntu@24.04 ubuntu@22.04", "", "ubuntu@22.04", "ubuntu@22.04"},
		{"ubuntu@24.04 ubuntu@22.04", "", "ubuntu@20.04", "ubuntu@24.04"},
		{"ubuntu@24.04 ubuntu@22.04", "ubuntu@22.04", "ubuntu@24.04", "ubuntu@22.04"},
	} {
		charm := model.Charm{Name: "app"}
		for _, b := range strings.Fields(c.charm) {
			charm.Bases = append(charm.Bases, base(t, b))
		}
		if got := charm.ChooseBase(base(t, c.given), base(t, c.ofModel)).String(); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
		if err := charm.CheckBase(base(t, "ubuntu@18.04")); (err == nil) != (c.charm == "") || err != nil && !strings.Contains(err.Error(), strings.ReplaceAll(c.charm, " ", ", ")) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

func base(t *testing.T, text string) model.Base {
	t.Helper()
	if text == "" {
		return model.Base{}
	}
	b, err := model.ParseBase(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestABaseIsParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ubuntu@24.04": "ubuntu@24.04", "ubuntu@22.04/stable": "ubuntu@22.04",
		"": "", "ubuntu": "", "ubuntu@": "", "@24.04": "", "ubuntu@24.04/": "", "Ubuntu@24.04": "", "a@1/x/y": "", "ubuntu@jammy": "",
	} {
		if got, err := model.ParseBase(text); got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}
