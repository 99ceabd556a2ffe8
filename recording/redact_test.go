package recording_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/unitd/unitd/recording"
)

func of(calls ...recording.Call) *recording.Recording {
	return &recording.Recording{Unit: "shop/0", Hook: "start", Calls: calls}
}

// asked is a call with its arguments, separated by "|", and its answer.
func asked(args, stdout string) recording.Call {
	return recording.Call{Args: strings.Split(args, "|"), Stdout: []byte(stdout)}
}

func read(args, stdin string) recording.Call {
	return recording.Call{Args: strings.Split(args, "|"), StdinSet: true, Stdin: []byte(stdin)}
}

// text is all that the calls have in them.
func text(r *recording.Recording) string {
	var b strings.Builder
	for _, c := range r.Calls {
		b.WriteString(strings.Join(c.Args, "|"))
		for _, s := range [][]byte{c.Stdin, c.File, c.Stdout, c.Stderr} {
			if len(s) > 0 {
				b.WriteString(">" + string(s))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSecretsAreReplacedWhereverTheyAre(t *testing.T) {
	t.Parallel()
	const pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc+/=\nAQAB1234\n-----END RSA PRIVATE KEY-----\n"
	pemJSON, err := json.Marshal(pem)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		calls []recording.Call
		want  string
	}{
		{"an option that was asked for",
			[]recording.Call{asked("config-get|admin-password", "hunter2\n")},
			"config-get|admin-password>redacted-1\n\n"},
		{"all options as JSON, and the same value in an argument",
			[]recording.Call{asked("config-get|--format=json", `{"api-key":"k3y-abcd","port":80}`), asked("state-set|x=k3y-abcd", "")},
			"config-get|--format=json>{\"api-key\":\"redacted-1\",\"port\":80}\nstate-set|x=redacted-1\n"},
		{"all options as YAML",
			[]recording.Call{asked("config-get", "port: 80\nDB_PASSWD: s3cret!\nuser: bob\n")},
			"config-get>port: 80\nDB_PASSWD: redacted-1\nuser: bob\n\n"},
		{"a key=value argument, seen before and after",
			[]recording.Call{asked("juju-log|made s3cret9", ""), asked("relation-set|-r|db:1|password=s3cret9|user=bob", ""), asked("relation-get|-r|db:1|-|shop/0", "password: s3cret9\n")},
			"juju-log|made redacted-1\nrelation-set|-r|db:1|password=redacted-1|user=bob\nrelation-get|-r|db:1|-|shop/0>password: redacted-1\n\n"},
		{"standard input",
			[]recording.Call{read("relation-set|--file|-", `{"token": "abcdef"}`)},
			"relation-set|--file|->{\"token\": \"redacted-1\"}\n"},
		{"the calls of a batch",
			[]recording.Call{{Args: []string{"unitd-batch"}, StdinSet: true,
				Stdin:  []byte("[\"config-get\",\"port\"]\n\n{\"args\":[\"config-get\",\"password\"]}\n[\"relation-set\",\"token=abc\\\"def\"]\n"),
				Stdout: []byte("{\"code\":0,\"stdout\":\"80\\n\",\"stderr\":\"\"}\n{\"code\":0,\"stdout\":\"hunter2\\n\",\"stderr\":\"\"}\n{\"code\":0}\n")}},
			"unitd-batch>[\"config-get\",\"port\"]\n\n{\"args\":[\"config-get\",\"password\"]}\n[\"relation-set\",\"token=redacted-2\"]\n" +
				">{\"code\":0,\"stdout\":\"80\\n\",\"stderr\":\"\"}\n{\"code\":0,\"stdout\":\"redacted-1\\n\",\"stderr\":\"\"}\n{\"code\":0}\n\n"},
		{"a file",
			[]recording.Call{{Args: []string{"state-set", "--file", "x"}, File: []byte("auth.token: abcdef\n")}},
			"state-set|--file|x>auth.token: redacted-1\n\n"},
		{"JSON in JSON, with escapes",
			[]recording.Call{asked("relation-get|--format=json", `{"data":"{\"password\":\"a\\\"b<c>d\"}"}`), asked("juju-log|a\"b<c>d", ""), asked("x", `"a\"b\u003cc\u003ed"`)},
			"relation-get|--format=json>{\"data\":\"{\\\"password\\\":\\\"redacted-1\\\"}\"}\njuju-log|redacted-1\nx>\"redacted-1\"\n"},
		{"all below a secret key",
			[]recording.Call{asked("leader-get|--format=json", `{"credentials":{"name":"alice99","list":["deepvalue"]}}`)},
			"leader-get|--format=json>{\"credentials\":{\"name\":\"redacted-1\",\"list\":[\"redacted-2\"]}}\n"},
		{"numbers and truths are no secrets",
			[]recording.Call{asked("config-get|--format=json", `{"use-token":true,"token-ttl":3600,"password":"","secret":"yes"}`)},
			"config-get|--format=json>{\"use-token\":true,\"token-ttl\":3600,\"password\":\"\",\"secret\":\"yes\"}\n"},
		{"a short value is one beside its key alone",
			[]recording.Call{asked("config-get|--format=json", `{"password":"abc","x":"abc"}`), asked("config-get|password", "abc\n"), asked("state-set|password=abc|y=abc", "")},
			"config-get|--format=json>{\"password\":\"redacted-1\",\"x\":\"abc\"}\nconfig-get|password>redacted-1\n\nstate-set|password=redacted-1|y=abc\n"},
		{"a word isn't found inside of another one, a long one is",
			[]recording.Call{asked("config-get|password", "port\n"), asked("config-get|secret", "0123456789\n"), asked("open-port|80|support port\\nport", "x0123456789y")},
			"config-get|password>redacted-1\n\nconfig-get|secret>redacted-2\n\nopen-port|80|support redacted-1\\nredacted-1>xredacted-2y\n"},
		{"a secret in a secret",
			[]recording.Call{asked("state-set|password=hunter2", ""), asked("state-set|token=hunter2-more", "")},
			"state-set|password=redacted-1\nstate-set|token=redacted-2\n"},
		{"a URL's password",
			[]recording.Call{asked("relation-get|uri", "postgresql://bob:pa55word@db:5432/x\n"), asked("juju-log|pa55word", "")},
			"relation-get|uri>postgresql://bob:redacted-1@db:5432/x\n\njuju-log|redacted-1\n"},
		{"a private key, in whichever form, line by line",
			[]recording.Call{asked("config-get|--format=json", `{"tls":`+string(pemJSON)+`}`), asked("config-get|tls", pem), asked("config-get", "tls: |\n  "+strings.ReplaceAll(strings.TrimSpace(pem), "\n", "\n  ")+"\n")},
			`config-get|--format=json>{"tls":"-----BEGIN RSA PRIVATE KEY-----\nredacted-1\nredacted-2\n-----END RSA PRIVATE KEY-----\n"}` + "\n" +
				"config-get|tls>-----BEGIN RSA PRIVATE KEY-----\nredacted-1\nredacted-2\n-----END RSA PRIVATE KEY-----\n\n" +
				"config-get>tls: |\n  -----BEGIN RSA PRIVATE KEY-----\n  redacted-1\n  redacted-2\n  -----END RSA PRIVATE KEY-----\n\n"},
		{"letters that JSON may write by their numbers",
			[]recording.Call{asked("config-get|password", "pässwörd😀\n"), asked("x", `"p\u00e4ssw\u00f6rd\ud83d\ude00"`), asked("y", `p\\u00E4ssw\\u00F6rd😀`)},
			"config-get|password>redacted-1\n\nx>\"redacted-1\"\ny>redacted-1\n"},
		{"a long phrase that YAML has broken",
			[]recording.Call{asked("config-get|passphrase", "correct horse battery\n"), asked("config-get", "passphrase: correct horse\n  battery\n")},
			"config-get|passphrase>redacted-1\n\nconfig-get>passphrase: redacted-1\n\n"},
		{"placeholders that are there already",
			[]recording.Call{asked("state-set|note=redacted-1|password=hunter2", "")},
			"state-set|note=redacted-1|password=redacted-2\n"},
		{"the URI of a secret, whatever its key is, and an id that is told of by one",
			[]recording.Call{asked("secret-add|password=hunter2", "secret:9m4e2mr0ui3e8a215n4g\n"), asked("relation-set|secret-user=secret://2c47a1a2-056e-4731-9b3b-546bd21b1613/9m4e2mr0ui3e8a215n4g", ""),
				asked("state-set|token=9m4e2mr0ui3e8a215n4g|secret=0123456789abcdef0120", "")},
			"secret-add|password=redacted-1>secret:9m4e2mr0ui3e8a215n4g\n\nrelation-set|secret-user=secret://2c47a1a2-056e-4731-9b3b-546bd21b1613/9m4e2mr0ui3e8a215n4g\n" +
				"state-set|token=9m4e2mr0ui3e8a215n4g|secret=redacted-2\n"},
		{"the file that a secret is in",
			[]recording.Call{asked("secret-add|password#file=/tmp/x1/password|token=abcdef", "")},
			"secret-add|password#file=/tmp/x1/password|token=redacted-1\n"},
		{"a sentence before a key",
			[]recording.Call{asked("juju-log|secret info: SecretInfo(id=9, label='db-user')", ""), asked("juju-log|made a new password=hunter2", "")},
			"juju-log|secret info: SecretInfo(id=9, label='db-user')\njuju-log|made a new password=redacted-1\n"},
		{"names of the model that the recording tells of",
			[]recording.Call{asked("config-get|--format=json", `{"secret-user":"admin","token":"shop/0","passwd-file":"unit-shop-0","api-key":"shop","password":"shopping"}`)},
			`config-get|--format=json>{"secret-user":"admin","token":"shop/0","passwd-file":"unit-shop-0","api-key":"shop","password":"redacted-1"}` + "\n"},
		{"keys that end with a word for a password",
			[]recording.Call{asked("config-get|--format=json", `{"db-pass":"abcd1","pwd":"abcd2","adminPw":"abcd3","PIN":"abcd4","bypass":"abcd5","spin":"abcd6","pass-through":"abcd7"}`)},
			`config-get|--format=json>{"db-pass":"redacted-1","pwd":"redacted-2","adminPw":"redacted-3","PIN":"redacted-4","bypass":"abcd5","spin":"abcd6","pass-through":"abcd7"}` + "\n"},
		{"units of an application that is called so",
			[]recording.Call{asked("relation-get|port|token-server/0", "5432\n")},
			"relation-get|port|token-server/0>5432\n\n"},
	} {
		r := of(c.calls...)
		before := text(r)
		if got := text(recording.Redact(r, nil)); got != c.want {
			t.Errorf("%s:\nhave %s\nwant %s", c.name, got, c.want)
		}
		if text(r) != before {
			t.Errorf("%s: the recording itself was changed", c.name)
		}
	}
}

func TestSecretsAreReplacedInEnvironmentAndMessage(t *testing.T) {
	t.Parallel()
	r := of(asked("config-get|password", "hunter2\n"))
	r.Env = []string{"JUJU_CHARM_HTTP_PROXY=http://bob:pr0xy-pw@proxy:3128", "MY_TOKEN=t0ken-value", "PATH=/bin"}
	r.Message = "exit status 1: no hunter2 for t0ken-value"
	got := recording.Redact(r, nil)
	if want := "JUJU_CHARM_HTTP_PROXY=http://bob:redacted-1@proxy:3128 MY_TOKEN=redacted-2 PATH=/bin"; strings.Join(got.Env, " ") != want {
		t.Errorf("environment %q", got.Env)
	}
	if want := "exit status 1: no redacted-3 for redacted-2"; got.Message != want || got.Redacted != 3 {
		t.Errorf("message %q, %d redacted", got.Message, got.Redacted)
	}
}

// TestWhatAnActionCallsPasswords, and of which secret a hook is told, which is none.
func TestWhatAnActionCallsPasswords(t *testing.T) {
	t.Parallel()
	r := of(asked("action-get", "code: first-one\nuser:\n  answer: second-one\n  login: bob-by\n"), asked("action-get|user.answer", "second-one\n"), asked("action-get|code", "first-one\n"))
	r.Passwords = []string{"answer", "code"}
	r.Env = []string{"JUJU_SECRET_ID=secret:9m4e2mr0ui3e8a215n4g", "JUJU_SECRET_LABEL=db-user"}
	got := recording.Redact(r, func(v string) bool { return v == "db-user" })
	if want := "action-get>code: redacted-1\nuser:\n  answer: redacted-2\n  login: bob-by\n\naction-get|user.answer>redacted-2\n\naction-get|code>redacted-1\n\n"; text(got) != want {
		t.Errorf("have %s\nwant %s", text(got), want)
	}
	if strings.Join(got.Env, " ") != strings.Join(r.Env, " ") {
		t.Errorf("environment %q", got.Env)
	}
}

func TestAStoredStateKeepsItsLengthOrIsLeftOut(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	for _, c := range []struct{ name, state, want, note string }{
		{"no secret", "db\x00events", "db\x00events", ""},
		{"a known one", "db\x10" + secret + "\x00", "db\x10redacted-1xxxxxx\x00", ""},
		{"a short one", "db hunter2", "", "too short"},
		{"the name of one", "db\x08PASSWORD\x04????", "", "the word password"},
		{"a part of one", "db " + secret[:9], "", "a part of a secret"},
	} {
		r := of(asked("config-get|token", secret+"\n"), asked("config-get|password", "hunter2\n"))
		r.State = []byte(c.state)
		got := recording.Redact(r, nil)
		if !bytes.Equal(got.State, []byte(c.want)) || !strings.Contains(got.StateNote, c.note) || (c.note == "") != (got.StateNote == "") {
			t.Errorf("%s: state %q, note %q", c.name, got.State, got.StateNote)
		}
		// Wherever the value is, the placeholder is the same.
		if c.want != "" && strings.Contains(c.want, "redacted") && string(got.Calls[0].Stdout) != "redacted-1xxxxxx\n" {
			t.Errorf("%s: the call has %q", c.name, got.Calls[0].Stdout)
		}
	}
}

// TestHideTakesManyLargeValues: a unit's secrets can have megabytes, and none of
// it is in what is kept.
func TestHideTakesManyLargeValues(t *testing.T) {
	t.Parallel()
	var values []recording.Secret
	r := &recording.Recording{}
	for i := range 64 {
		value := strings.Repeat(fmt.Sprintf("%02d<\"binary\">\\", i), 4<<10)
		values = append(values, recording.Secret{Key: "cert", Value: value})
		asJSON, err := json.Marshal(map[string]string{"cert": value})
		if err != nil {
			t.Fatal(err)
		}
		r.Calls = append(r.Calls, recording.Call{Args: []string{"secret-get", "x"}, Stdout: asJSON})
		r.Calls = append(r.Calls, recording.Call{Args: []string{"relation-set", "cert=" + value}})
	}
	hidden := recording.Hide(r, values)
	for _, c := range hidden.Calls {
		if len(c.Stdout) > 100 || len(strings.Join(c.Args, " ")) > 100 {
			t.Fatalf("%d bytes of it are left", len(c.Stdout)+len(strings.Join(c.Args, " ")))
		}
	}
}
