package charmhub

import (
	"strings"
	"testing"
)

// FuzzAnswer: whatever a hub answers, what is made of it is a release that can be had,
// or an error of one line.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"error-list":[],"results":[{"instance-key":"1","result":"install","effective-channel":"latest/stable","charm":{"type":"charm","id":"x","name":"ledger","revision":41,` +
		`"download":{"url":"https://x/y","size":1,"hash-sha-256":"` + strings.Repeat("0", 64) + `"},"resources":[{"name":"seed","type":"file","filename":"a","download":{"url":"http://x","hash-sha-384":"` + strings.Repeat("a", 96) + `"}}]}}]}`))
	f.Add([]byte(`{"results":[{"instance-key":"1","result":"error","error":{"code":"revision-not-found","extra":{"releases":[{"base":{"name":"ubuntu","channel":"24.04"},"channel":"edge"}],"default-bases":[{}]}}}]}`))
	f.Add([]byte(`{"error-list":[{"code":"api-error","message":"a\nb"}]}`))
	f.Add([]byte(`{"error-list":[{"code":"an\nerror"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseAction(b, "1")
		if err != nil {
			return
		}
		if e.Error != nil {
			for _, err := range []error{e.Error.err("resolving error"), e.Error.noRelease(Channel{}, Base{Architecture: "amd64"})} {
				if err.Error() == "" || strings.ContainsAny(e.Error.said(), "\n\r") {
					t.Errorf("said %q", err)
				}
			}
			if _, err := (&Client{Architecture: "amd64"}).choose(*e.Error, Want{}); err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("chose %q", err)
			}
			return
		}
		r, err := e.release(Base{})
		if err != nil {
			return
		}
		if !ValidName(r.Name) || r.Revision < 0 || strings.ContainsAny(r.Download.key(r.Type), "/.") {
			t.Errorf("took %+v", r)
		}
		for _, res := range r.Resources {
			if strings.Contains(res.Filename, "/") || strings.ContainsAny(res.Download.key(resourceKind), "/.") {
				t.Errorf("took the resource %+v", res)
			}
		}
	})
}
