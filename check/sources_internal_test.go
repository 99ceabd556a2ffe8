package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
)

func call(out string, args ...string) recording.Call {
	return recording.Call{Args: args, Stdout: []byte(out)}
}

// seenRun is a run of shop's in which it has read this and that.
func seenRun() *recording.Recording {
	return &recording.Recording{
		Unit: "buy/0", Charm: "shop", Hook: "db-relation-changed",
		Env: []string{"JUJU_RELATION=db", "JUJU_RELATION_ID=db:3", "JUJU_REMOTE_UNIT=pg/0", "JUJU_REMOTE_APP=pg"},
		Calls: []recording.Call{
			call(`["web:7"]`, "relation-ids", "web", "--format=json"),
			call("egress-subnets: 10.1.2.3/32\ningress-address: 10.1.2.3\nport: 5432\nready: true\nurl: http://10.1.2.3:80/a b\nname: pg/0\nempty: \"\"\n", "relation-get", "-"),
			call(`{"creds": "secret:9m4e2mr0ui3e8a215n4g", "password": "redacted-1", "map": "{\"a\":\"secret://0c8f/9m4e2mr0ui3e8a215n4g\"}", "cert": "a\nb", "app": "pg"}`, "relation-get", "-r", "3", "-", "pg", "--app", "--format", "json"),
			call(`{"user": "u", "tls-ca": "c"}`, "secret-get", "secret:9m4e2mr0ui3e8a215n4g", "--format=json"),
			call("10.9.9.9\n", "relation-get", "--relation=web:7", "host", "fe/2"),
			call("http://10.9.9.9\n", "relation-get", "--relation=web:7", "url", "fe/2"),
			call("own\n", "relation-get", "-r", "7", "own", "buy/0"),
			{Args: []string{"relation-get", "-r", "7", "gone", "fe/2"}, Stdout: []byte("x"), Code: 1},
			call("p\n", "relation-get", "-r", "9", "k", "fe/2"),
		},
	}
}

func TestARecordingTellsWhatOthersPublish(t *testing.T) {
	t.Parallel()
	s := shop()
	n, err := s.AddRecording(seenRun())
	if err != nil || n != 10 {
		t.Errorf("%d keys, %v", n, err)
	}
	for name, want := range map[string]string{
		"db": "app given app=other-db\napp secret creds=$DB_CREDS\napp secret map='{\"a\":\"'$DB_MAP'\"}'\napp word password=password-of-other-db\n" +
			"unit given name=other-db/0\nunit given port=5432\nunit given ready=true\nunit given url='http://10.77.3.2:80/a b'",
		"web": "unit given host=10.77.4.2\nunit given url=http://10.77.4.2",
	} {
		e := stubOf(s, name)
		if got := told(e, s.keysOf(e, nil)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	w := World{Subject: s, Endpoints: s.endpoints()}
	if got := w.secretsOf(w.Endpoints[0])[0]; !strings.Contains(got, " tls-ca=open-first-of-db-creds user=") || !strings.Contains(got, " port=") || !strings.Contains(got, " token=") {
		t.Errorf("the secret has not what it had, nor what the charm may look for: %s", got)
	}
	if _, err := s.AddRecording(&recording.Recording{Charm: "ledger"}); !errors.Is(err, errors.NotValid) {
		t.Errorf("it takes another charm's: %v", err)
	}
}

// TestWhatIsPublishedIsWhatWasSeen: the words of a scenario's line are what a databag gets.
func TestWhatIsPublishedIsWhatWasSeen(t *testing.T) {
	t.Parallel()
	s := shop()
	if _, err := s.AddRecording(seenRun()); err != nil {
		t.Fatal(err)
	}
	e := s.endpoints()[0]
	p := &player{here: place{vars: map[string]string{"DB_CREDS": "secret:1", "DB_MAP": "secret:2"}}}
	lines := e.publish(e.Keys, 0)
	if len(lines) != 2 {
		t.Fatal(lines)
	}
	for i, want := range []string{
		"stub-set|other-db/0|name=other-db/0|port=5432|ready=true|url=http://10.77.3.2:80/a b",
		`stub-set|--app|other-db|app=other-db|creds=secret:1|map={"a":"secret:2"}|password=password-of-other-db`,
	} {
		words, err := p.words(lines[i])
		if err != nil || strings.Join(words, "|") != want {
			t.Errorf("%q %v", words, err)
		}
	}
	if got := pythonLine(lines[1]); !strings.Contains(got, `"map={{\"a\":\"{db_map}\"}}"`) && !strings.Contains(got, `{db_map}`) {
		t.Errorf("in Python it is another: %s", got)
	}
}

func TestTheMostCredibleSourceCounts(t *testing.T) {
	t.Parallel()
	s := readAll(map[string]string{"schemas/sql/provider.json": `{"properties": {"port": {"const": 1}, "user": {"const": "u"}, "more": {"const": "m"}}}`})
	if _, err := s.AddRecording(seenRun()); err != nil {
		t.Fatal(err)
	}
	e := stubOf(s, "db")
	e.Keys = s.keysOf(e, []Key{{Name: "port", Kind: Given, Value: "2", From: Partnered}, {Name: "user", Kind: Given, Value: "p", From: Partnered}, {Name: "user", Kind: Given, Value: "q", From: Partnered, Where: AppBag}})
	values := map[string][]string{}
	for _, k := range e.Keys {
		values[k.Name] = append(values[k.Name], e.value(k, 0))
	}
	for name, want := range map[string][]string{"port": {"5432"}, "user": {"p", "q"}, "more": {"m"}} {
		if !slices.Equal(values[name], want) {
			t.Errorf("%s is %q", name, values[name])
		}
	}
	w := World{Subject: s, Endpoints: []Endpoint{e, {Name: "web", Keys: s.guesses()[:1]}, {Name: "x"}}}
	text := strings.Join(worldText(w.origins()), ", ")
	if text != "db by a recording (8 keys) and by its partner (1 key) and by its schema (1 key), web by guesses (1 key), x with nothing published" {
		t.Error(text)
	}
}

// TestAKeyIsTriedInOtherForms: as JSON has texts, and then as if nothing were known of it.
func TestAKeyIsTriedInOtherForms(t *testing.T) {
	t.Parallel()
	k := Key{Name: "a", Kind: Given, Value: "v", Where: AppBag, From: Schemed, Text: true}
	e := Endpoint{Name: "db"}
	var tried []string
	got, err := usable(nil, []Key{k}, func(keys []Key) (bool, error) {
		tried = append(tried, e.word(keys[0], -1))
		return keys[0].Kind == Object, nil
	})
	if err != nil || len(got) != 1 || got[0].Where != AppBag || got[0].From != Guessed {
		t.Errorf("%v %v", got, err)
	}
	if want := []string{"a=v", `a="v"`, "a=8080", "a=$DB_A", "a={}"}; !slices.Equal(tried, want) {
		t.Errorf("%q", tried)
	}
}

func TestAPartnerHasToBeTheOtherSide(t *testing.T) {
	t.Parallel()
	ledger := model.Charm{Name: "ledger", Endpoints: map[string]model.CharmRel{
		"a": {Role: model.Requirer, Interface: "sql", Scope: model.Global}, "z": {Role: model.Provider, Interface: "sql", Scope: model.Global},
	}}
	s := shop()
	if err := s.PartnerOf("db", ledger, "/l"); err != nil || s.Partners["db"] != (Partner{"/l", "z"}) {
		t.Errorf("%v %v", s.Partners, err)
	}
	for _, endpoint := range []string{"web", "all", "host", "none"} {
		if err := s.PartnerOf(endpoint, ledger, "/l"); !errors.Is(err, errors.NotFound) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

func TestKeysThatHooksAskFor(t *testing.T) {
	t.Parallel()
	run := func(hook string, calls ...string) history.Entry {
		e := history.Entry{Name: hook}
		for _, c := range calls {
			words := strings.Fields(c)
			e.Calls = append(e.Calls, history.Call{Tool: words[0], Args: words[1:]})
		}
		return e
	}
	got := keysAsked([]history.Entry{
		run("db-relation-changed", "relation-get host", "relation-get - pg/0", "relation-get --app version pg", "relation-get mine shop/0", "relation-get --app ours shop", "config-get title", "relation-get --app host"),
		run("update-status", "relation-get -r db:3 port pg/0", "relation-get --relation=web:4 path", "relation-get title", "relation-get host pg/0"),
		run("web-relation-changed", "relation-get url", "relation-get -r db:3 --format json password pg/1", "relation-get -r db:3 ingress-address pg/1"),
	}, Endpoint{Name: "db"}, "shop")
	want := []Key{
		{Name: "host", Kind: Address, Where: Both, From: Asked}, {Name: "version", Kind: Word, Where: AppBag, From: Asked},
		{Name: "port", Kind: Number, Where: UnitBag, From: Asked}, {Name: "password", Kind: Word, Where: UnitBag, From: Asked},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("have %v, want %v", got, want)
	}
}
