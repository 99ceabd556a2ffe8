package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/deploy"
)

func TestModelReferencesMayNameControllerAndOwner(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"shop": "shop", "admin/shop": "shop", "unitd:shop": "shop", "unitd:admin/shop": "shop",
		"": "", "Shop": "", "unitd:": "", "-shop": "", "shop/": "",
		":shop": "shop", ":admin/shop": "shop", "other:shop": "", "bob/shop": "", "unitd:bob/shop": "", "a/b/shop": "", "a:b:shop": "",
	} {
		got, err := modelRef(ref)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: have %q, %v, want %q", ref, got, err, want)
		}
	}
}

func TestOptionsAreReadFromYAMLInEachOfItsShapes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, yaml, want, err string
	}{
		{"below the application's name", "shop: {port: 5}", "port=5", ""},
		{"without it", "port: 5\non: true\nrate: 1.5\ntitle: a b", "on=true port=5 rate=1.5 title=a b", ""},
		{"as config shows them, only what was set", "application: shop\nsettings: {port: {value: 5, source: user}, on: {value: true, source: default}}", "port=5", ""},
		{"nothing is left out", "shop: {port: null}", "", ""},
		{"an empty file", "", "", ""},
		{"text that looks like a number", "shop: {title: '007'}", "title=007", ""},
		{"a large number", "shop: {port: 9007199254740993, rate: 1e21}", "port=9007199254740993 rate=1e21", ""},
		{"values as they are written", "shop: {title: 2026-03-03, port: 0755, rate: 1.10, on: True}", "on=True port=0755 rate=1.10 title=2026-03-03", ""},
		{"a date in what config shows", "application: shop\nsettings: {title: {value: 2026-03-03, source: user}}", "title=2026-03-03", ""},
		{"as model-config shows them, only what was set", "port: {value: 1.10, source: model}\non: {value: true, source: default}", "port=1.10", ""},
		{"as model-config writes them into JSON", `{"port": {"Value": 5, "Source": "model"}, "on": {"Value": true, "Source": "default"}}`, "port=5", ""},
		{"text by an anchor", "shop: {title: &a x y, rate: *a}", "rate=x y title=x y", ""},
		{"an option that is there twice", "shop: {port: 1, port: 2}", "", "x.yaml"},
		{"a list is no value", "shop: {port: [1]}", "", `x.yaml: option "port" is neither text, number nor boolean`},
		{"a map is no value", "shop: {port: {a: 1}}", "", `x.yaml: option "port" is neither text, number nor boolean`},
		{"a list is no map of options", "[1, 2]", "", "x.yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := configYAML("shop", "x.yaml", []byte(test.yaml))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "\n") {
					t.Errorf("have error %v, want %q in one line", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var pairs []string
			for _, k := range []string{"on", "port", "rate", "title"} {
				if v, ok := got[k]; ok {
					pairs = append(pairs, k+"="+v)
				}
			}
			if text := strings.Join(pairs, " "); text != test.want || len(got) != len(pairs) {
				t.Errorf("have %v, want %s", got, test.want)
			}
		})
	}
}

func TestParametersOfActionsKeepTheirKindAndDatesTheirText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "params.yaml")
	if err := os.WriteFile(path, []byte("when: [2026-03-03, {at: 2026-03-03 10:00:00}]\nn: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	params, err := actionParams(path, []string{"day=2026-03-03", "all=[2026-03-03, 1.5]", "none=", "on=true"}, false)
	have, _ := json.Marshal(params)
	const want = `{"all":["2026-03-03",1.5],"day":"2026-03-03","n":3,"none":"","on":true,"when":["2026-03-03",{"at":"2026-03-03 10:00:00"}]}`
	if err != nil || string(have) != want {
		t.Errorf("have %s, %v\nwant %s", have, err, want)
	}
}

func TestRevisionIsTheEndOfTheURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"local:shop-0": "0", "local:shop-12": "12", "local:self-signed-certs-3": "3", "local:shop": "0"} {
		if got := deploy.Revision(url); got != want {
			t.Errorf("%s: have %s, want %s", url, got, want)
		}
	}
}
