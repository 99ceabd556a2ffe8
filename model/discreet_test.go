package model_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

func TestDiscreet(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ key, text, want string }{
		{"color", "red", "red"},
		{"", "", ""},
		{"db-password", "hush", "…"},
		{"db-password", "", ""},
		{"adminPass", "hush", "…"},
		{"compass", "north", "north"},
		{"cert", "-----BEGIN RSA PRIVATE KEY-----\nhush", "…"},
		{"", "password=hush", "password=…"},
		{"", "--token=hush", "--token=…"},
		{"", "http://bob:hush@host/?api_key=hush&x=1", "http://bob:…@host/?api_key=…"},
		{"", `{"user":"bob","password":"hush","port":1}`, `{"user":"bob","password":"…","port":1}`},
		{"", `"{\"password\":\"hush\"}"`, `"{\"password\":\"…\"}"`},
		{"", "user: bob\npassword: hush\nport: 1", "user: bob\npassword: …\nport: 1"},
		{"", "export TOKEN='hush'", "export TOKEN='…'"},
		{"secret", `"secret:50u4d7um3584cim02nl0"`, `"secret:50u4d7um3584cim02nl0"`},
		{"", "secret=secret:50u4d7um3584cim02nl0", "secret=secret:50u4d7um3584cim02nl0"},
		{"", "secret:50u4d7um3584cim02nl0", "secret:50u4d7um3584cim02nl0"},
		{"", "secret:hush", "secret:…"},
		{"", "password: |\n  hush\n  tush", "password: …"},
		{"", "password: 'correct horse'\nuser: bob", "password: '…'\nuser: bob"},
		{"", "password: 'it''s hush' # and", "password: '…' # and"},
		{"", `password="a\"hush" user=bob`, `password="…" user=bob`},
		{"", "password=ab&cd,hush", "password=…"},
		{"", "http://u:p@hush@h/x", "http://u:…@h/x"},
		{"", "password: 'no end", "password: '…"},
	} {
		if got := model.Discreet(row.key, row.text); got != row.want {
			t.Errorf("%q %q: got %q, want %q", row.key, row.text, got, row.want)
		}
	}
}

// FuzzDiscreet: nothing panics, and what is hidden of a text isn't found by looking again.
func FuzzDiscreet(f *testing.F) {
	f.Add("a", "password=x token: y http://u:p@h")
	f.Fuzz(func(t *testing.T, key, text string) {
		got := model.Discreet(key, text)
		if model.NamesSecret(key) && text != "" && !strings.Contains(text, "secret:") && got != "…" {
			t.Errorf("%q of %q", got, key)
		}
	})
}
