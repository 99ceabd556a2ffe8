package etcd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/state/store/etcd"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	env := map[string]string{etcd.EnvUser: "shop", etcd.EnvPassword: "sesame"}
	for _, tt := range []struct {
		url       string
		env       map[string]string
		endpoints string
		prefix    string
		user      string
		fails     string
	}{
		{url: "etcd://host:2379/unitd", endpoints: "host:2379", prefix: "unitd"},
		{url: "etcd://a:1,b:2,10.0.0.1/x/y/", endpoints: "a:1 b:2 10.0.0.1:2379", prefix: "x/y"},
		{url: "etcd://[::1]:2379,[::2]/x", endpoints: "[::1]:2379 [::2]:2379", prefix: "x"},
		{url: "etcd://host/x", env: env, endpoints: "host:2379", prefix: "x", user: "shop"},
		{url: "etcd://host/x?user=other", env: env, endpoints: "host:2379", prefix: "x", user: "other"},
		{url: "http://host/x", fails: "a store in etcd is named like"},
		{url: "etcd://", fails: "a host"},
		{url: "etcd:///x", fails: "a host"},
		{url: "etcd://a:1,,b:1/x", fails: "a host"},
		{url: "etcd://me:secret@host:1/x", fails: "name it as ?user=NAME"},
		{url: "etcd://host", fails: "needs a prefix"},
		{url: "etcd://host//x", fails: "needs a prefix"},
		{url: "etcd://host/a b", fails: "needs a prefix"},
		{url: "etcd://host/" + strings.Repeat("x", 101), fails: "needs a prefix"},
		{url: "etcd://host/x?%zz", fails: "can't be read"},
		{url: "etcd://host/x?tls=1", fails: `a parameter "tls"`},
		{url: "etcd://host/x?user=a", fails: "named with the password"},
		{url: "etcd://host/x?cert=a", fails: "named with its key"},
		{url: "etcd://host/x?ca=nowhere.pem", fails: "cannot read who signs"},
		{url: "etcd://host/x?ca=system", endpoints: "host:2379", prefix: "x"},
	} {
		t.Run(tt.url, func(t *testing.T) {
			t.Parallel()
			o, err := etcd.ParseURL(tt.url, func(name string) string { return tt.env[name] })
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("it gives %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(o.Endpoints, " "); got != tt.endpoints || o.Prefix != tt.prefix || o.Username != tt.user {
				t.Errorf("it gives %s, %s, user %q", got, o.Prefix, o.Username)
			}
		})
	}
}

// What is read is written so that it is read again.
func FuzzParseURL(f *testing.F) {
	for _, url := range []string{"etcd://a:1,b/x/y?ca=system", "etcd://[::1]/x?user=a", "etcd://host:1/x?ca=", "etcd://a:b:c/x"} {
		f.Add(url)
	}
	env := func(name string) string { return map[string]string{etcd.EnvUser: "u", etcd.EnvPassword: "p"}[name] }
	f.Fuzz(func(t *testing.T, url string) {
		if strings.Contains(url, "file") || strings.Contains(url, "cert") || strings.Contains(url, "key") || strings.Contains(url, "%") {
			return // no files are read
		}
		o, err := etcd.ParseURL(url, env)
		if err != nil {
			return
		}
		again, err := etcd.ParseURL(o.URL(), env)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", url, o.URL(), err)
		}
		if !slices.Equal(again.Endpoints, o.Endpoints) || again.Prefix != o.Prefix || again.Username != o.Username || (again.TLS == nil) != (o.TLS == nil) {
			t.Errorf("%q is written as %q", url, o.URL())
		}
	})
}
