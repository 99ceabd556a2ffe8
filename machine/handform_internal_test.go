package machine

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/unitd/unitd/recording"
)

// TestARunIsReadInEitherForm: in that of today, whatever bytes it has, and in that of the first agents.
func TestARunIsReadInEitherForm(t *testing.T) {
	t.Parallel()
	want := HandedRun{Unit: "app/0", Pid: 7, Env: bytesOf([]string{"PATH=/bin", "JUJU_UNIT_NAME=app/0"}), Secrets: []HandedSecret{{"word", []byte("abcd")}}}
	odd := want
	odd.Env, odd.Secrets = bytesOf([]string{"A\xff=\xfe", ""}), []HandedSecret{{"word", []byte{0xff, 0}}}
	former := struct { // as the first agents had it
		Unit    string
		Pid     int
		Env     []string
		Secrets []recording.Secret
	}{"app/0", 7, textsOf(want.Env), []recording.Secret{{Key: "word", Value: "abcd"}}}
	for what, c := range map[string]struct {
		from any
		want HandedRun
	}{"today's": {want, want}, "whatever bytes": {odd, odd}, "the first agents'": {former, want}, "nothing": {HandedRun{}, HandedRun{}}} {
		b, err := json.Marshal(c.from)
		var got HandedRun
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v (%v)", what, got, c.want, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"Env":["QQ=="],"Secrets":[{"Key":"word","Value":"_"}]}`), &HandedRun{}); err == nil {
		t.Error("bytes that aren't in base64 are taken")
	}
}

func TestFormsThatAreTakenOver(t *testing.T) {
	t.Parallel()
	own := HandoverForm()
	first := own[:len(own)-len(".1")]
	for form, want := range map[string]bool{own: true, first: true, first + ".2": false, "1": false, "": false, "9.9": false} {
		if TakesOver(form) != want {
			t.Errorf("%q: taken over: %v", form, !want)
		}
	}
}
