package state

import (
	"fmt"
	"strings"
	"testing"
)

func TestLoggedFields(t *testing.T) {
	t.Parallel()
	const no = "-" // there is no document
	long := strings.Repeat("é", maxLoggedValue)
	for _, row := range []struct{ name, key, before, after, want string }{
		{"an application is added", "app/web", no, `{"name":"web","life":0,"units":1}`, `application web  added`},
		{"and removed", "app/web", `{"name":"web"}`, no, `application web  removed`},
		{"what counts isn't told", "app/web", `{"units":1,"next-unit":2}`, `{"units":2,"next-unit":3}`, ``},
		{"a field is set, and another no longer", "app/web", `{"trust":true}`, `{"exposed":true}`, `application web exposed set  true|application web trust set true `},
		{"fields below fields", "app/web", `{"annotations":{"a":"1","b":"2"}}`, `{"annotations":{"b":"3"}}`, `application web annotations.a set "1" |application web annotations.b set "2" "3"`},
		{"all of them are new", "app/web", `{}`, `{"annotations":{"a":"1"}}`, `application web annotations.a set  "1"`},
		{"options", "config/web", `{"values":{"n":1.50,"s":"x"},"by":"00-1"}`, `{"values":{"n":12345678901234567890,"s":"x"},"by":"00-2"}`, `application web n set 1.50 12345678901234567890`},
		{"options of a new application", "config/web", no, `{"values":{"s":"x"}}`, `application web s set  "x"`},
		{"options of one that goes", "config/web", `{"values":{"s":"x"}}`, no, `application web s set "x" `},
		{"lives have words", "unit/web/0", `{"life":0,"run":4}`, `{"life":1,"run":5}`, `unit web/0 life set "alive" "dying"`},
		{"so has force", "unit/web/0", `{"life":1}`, `{"life":1,"force":2}`, `unit web/0 force set  "force, no wait"`},
		{"a force that there isn't", "unit/web/0", `{"force":-3}`, `{"force":99}`, `unit web/0 force set "" "force, no wait"`},
		{"one of a field's fields", "unit/web/0", `{}`, `{"resolved":{"run":7,"mode":"retry"}}`, `unit web/0 resolved.mode set  "retry"`},
		{"a relation has its key", "relation/3", no, `{"id":3,"key":"web:db db:db"}`, `relation web:db db:db  added`},
		{"also when it goes", "relation/3", `{"id":3,"key":"web:db db:db"}`, no, `relation web:db db:db  removed`},
		{"a secret's content is never told", "secret-content/abc/2", no, `"hush"`, `secret abc revision 2 added`},
		{"nor when it goes", "secret-content/abc/2", `"hush"`, no, `secret abc revision 2 removed`},
		{"nor when it is sealed anew", "secret-content/abc/2", `"hush"`, `"tush"`, ``},
		{"a document that is a text", "model-constraints", no, `"mem=1G"`, `model  constraints set  "mem=1G"`},
		{"one that is a list", "ssh-keys", `["a"]`, `["a","b"]`, `model  ssh-keys set ["a"] ["a","b"]`},
		{"the model's settings", "model-config", `{"x":"1"}`, `{"x":"1","y":"2"}`, `model  y set  "2"`},
		{"what came and went", "storage-pool/p", no, no, ``},
		{"a long value", "config/web", no, `{"values":{"s":"` + long + `"}}`, `application web s set  "` + strings.Repeat("é", maxLoggedValue/2-1) + `…`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			text := func(s string) []byte {
				if s == no {
					return nil
				}
				return []byte(s)
			}
			fields, err := loggedFields(row.key, text(row.before), text(row.after))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range fields {
				line := fmt.Sprintf("%s %s %s %s", f.Kind, f.Name, f.Field, f.Did)
				if f.Did == DidSet {
					line += fmt.Sprintf(" %s %s", f.Before, f.After)
				}
				got = append(got, line)
			}
			if strings.Join(got, "|") != row.want {
				t.Errorf("got  %q\nwant %q", strings.Join(got, "|"), row.want)
			}
		})
	}
}

// FuzzLoggedFields: whatever documents say, also those of another program, nothing panics, and no
// value is longer than what is kept of it.
func FuzzLoggedFields(f *testing.F) {
	for kind := range loggedKinds {
		f.Add(kind+"/a/b", `{"life":0,"values":{"a":[1,{"b":null}]},"key":7}`, `[1,2]`)
		f.Add(kind, `"text"`, `{"values":"text","life":{"x":1},"resolved":{"mode":{}}}`)
	}
	f.Fuzz(func(t *testing.T, key, before, after string) {
		fields, err := loggedFields(key, []byte(before), []byte(after))
		if err != nil {
			return
		}
		for _, field := range fields {
			if len(field.Before) > maxLoggedValue+len("…") || len(field.After) > maxLoggedValue+len("…") {
				t.Errorf("a value has %d bytes, another %d", len(field.Before), len(field.After))
			}
		}
	})
}
