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
		{"a second answer is told like the first", "unit/web/0", `{"resolved":{"run":7,"mode":"retry"}}`, `{"resolved":{"run":9,"mode":"retry"}}`, `unit web/0 resolved set {"mode":"retry","run":7} {"mode":"retry","run":9}`},
		{"one of a field's fields", "machine/0", `{}`, `{"annotations":{"a":"1"}}`, `machine 0 annotations.a set  "1"`},
		{"a machine that stands for a pod", "machine/web-0", no, `{"id":"web-0","pod":true}`, ``},
		{"a secret is added with its name", "secret/abc", no, `{"id":"abc","label":"word","made":1}`, `secret abc  added|secret abc label set  "word"`},
		{"and removed", "secret/abc", `{"id":"abc","label":"word"}`, no, `secret abc  removed`},
		{"an operation that is old", "operation/1", `{"summary":"x"}`, no, ``},
		{"storage is being detached", "attachment/web/0/data/1", `{"storage":"data/1","life":0}`, `{"storage":"data/1","life":1}`, `attached storage data/1 life set "alive" "dying"`},
		{"what is sealed of a resource", "app/web", `{"resources":{"img":{"password":"c2VhbA==","given":"1","revision":1}}}`, `{"resources":{"img":{"password":"b3RoZXI=","given":"2","revision":2}}}`, `application web resources.img.revision set 1 2`},
		{"an option that is called like a secret", "config/web", `{"values":{"db-password":"hush"}}`, `{"values":{"db-password":"tush"}}`, `application web db-password set "…" "…"`},
		{"a password in a URL", "model-config", `{}`, `{"http-proxy":"http://bob:hush@proxy:1"}`, `model  http-proxy set  "http://bob:…@proxy:1"`},
		{"a key in a document", "config/web", `{"values":{}}`, `{"values":{"yaml":"a: 1\ntoken: hush\nb: 2"}}`, `application web yaml set  "a: 1\ntoken: …\nb: 2"`},
		{"the URI of a secret", "config/web", `{"values":{}}`, `{"values":{"secret":"secret:50u4d7um3584cim02nl0"}}`, `application web secret set  "secret:50u4d7um3584cim02nl0"`},
		{"long values that differ at their ends", "config/web", `{"values":{"s":"` + strings.Repeat("x", 1000) + `1"}}`, `{"values":{"s":"` + strings.Repeat("x", 1000) + `2"}}`, `application web s set …` + strings.Repeat("x", 100) + `1" …` + strings.Repeat("x", 100) + `2"`},
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
			if len(field.Before) > maxLoggedValue+2*len("…") || len(field.After) > maxLoggedValue+2*len("…") {
				t.Errorf("a value has %d bytes, another %d", len(field.Before), len(field.After))
			}
		}
	})
}
