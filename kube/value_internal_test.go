package kube

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/juju/errors"
)

func parsed(t testing.TB, text string) object {
	t.Helper()
	o, err := decodeObject([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// differing are objects, and what they become.
var differing = []struct{ name, from, to string }{
	{"nothing differs", `{"a":1}`, `{"a":1}`},
	{"a field goes", `{"a":1,"b":2}`, `{"b":2}`},
	{"a field comes, deep", `{"a":{}}`, `{"a":{"b":{"c":[1,2]}}}`},
	{"a list without keys is one value", `{"args":["a","b"]}`, `{"args":["b"]}`},
	{"an item of a list with keys changes", `{"containers":[{"name":"a","image":"x"},{"name":"b"}]}`, `{"containers":[{"name":"a","image":"y"},{"name":"b"}]}`},
	{"items go and come", `{"ports":[{"port":65535}]}`, `{"ports":[{"port":80,"protocol":"TCP"},{"port":80,"protocol":"UDP"}]}`},
	{"items change places", `{"env":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, `{"env":[{"name":"c"},{"name":"a","value":"1"},{"name":"d"}]}`},
	{"all items go", `{"env":[{"name":"a"}]}`, `{"env":[]}`},
	{"two items have the same key", `{"env":[{"name":"a"}]}`, `{"env":[{"name":"a"},{"name":"a"}]}`},
	{"an object becomes a list, and the other way", `{"a":{"b":1},"c":[1]}`, `{"a":[1],"c":{"b":1}}`},
	{"a field that looks like a directive", `{"annotations":{}}`, `{"annotations":{"$patch":"delete","$setElementOrder/x":"1"}}`},
}

func TestEditsMakeOneObjectOfTheOther(t *testing.T) {
	t.Parallel()
	for _, c := range differing {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkEdits(t, parsed(t, c.from), parsed(t, c.to))
		})
	}
}

// checkEdits takes them through the form in which they are kept.
func checkEdits(t *testing.T, from, to object) {
	t.Helper()
	before := string(encode(from))
	data, err := json.Marshal(diff(from, to))
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if doc, err = parseDocument([]byte(`{"edits":` + string(data) + `}`)); err != nil {
		t.Fatal(err)
	}
	if got := patched(from, doc.Edits); !equal(got, to) {
		t.Errorf("by %s\n%s becomes\n%s, not\n%s", data, before, encode(got), encode(to))
	}
	if string(encode(from)) != before {
		t.Errorf("what edits are made on has changed, from %s to %s", before, encode(from))
	}
}

func FuzzDiff(f *testing.F) {
	for _, c := range differing {
		f.Add(c.from, c.to)
	}
	f.Fuzz(func(t *testing.T, from, to string) {
		a, errA := decodeObject([]byte(from))
		b, errB := decodeObject([]byte(to))
		if errA != nil || errB != nil {
			t.Skip()
		}
		dropNulls(a)
		dropNulls(b)
		checkEdits(t, a, b)
	})
}

// TestEditsHoldOnALaterObject: what the model changes shows beside what the charm
// has changed.
func TestEditsHoldOnALaterObject(t *testing.T) {
	t.Parallel()
	from := parsed(t, `{"replicas":1,"containers":[{"name":"a","image":"x:1"},{"name":"b"}],"ports":[{"port":65535}]}`)
	edits := diff(from, parsed(t, `{"replicas":1,"containers":[{"name":"a","image":"x:1","resources":{"limits":{"cpu":"1"}}},{"name":"b"}],"ports":[{"port":80}]}`))
	later := parsed(t, `{"replicas":3,"containers":[{"name":"new"},{"name":"a","image":"x:2"}],"ports":[{"port":8080}]}`)
	want := parsed(t, `{"replicas":3,"containers":[{"name":"new"},{"name":"a","image":"x:2","resources":{"limits":{"cpu":"1"}}}],"ports":[{"port":8080},{"port":80}]}`)
	if got := patched(later, edits); !equal(got, want) {
		t.Errorf("got %s, want %s", encode(got), encode(want))
	}
}

var merges = []struct{ name, object, patch, want string }{
	{"fields are merged, and null takes away", `{"a":{"b":1,"c":2}}`, `{"a":{"b":null,"d":3}}`, `{"a":{"c":2,"d":3}}`},
	{"containers are merged by name", `{"containers":[{"name":"a","image":"x"},{"name":"b"}]}`, `{"containers":[{"name":"b","image":"y"},{"name":"c"}]}`, `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"},{"name":"c"}]}`},
	{"env within containers", `{"containers":[{"name":"a","env":[{"name":"X","value":"1"}]}]}`, `{"containers":[{"name":"a","env":[{"name":"Y","value":"2"}]}]}`, `{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}]}]}`},
	{"service ports by port", `{"ports":[{"port":80,"protocol":"TCP"}]}`, `{"ports":[{"port":80,"targetPort":8080}]}`, `{"ports":[{"port":80,"protocol":"TCP","targetPort":8080}]}`},
	{"the same port of another protocol is another one", `{"ports":[{"port":53,"protocol":"TCP"}]}`, `{"ports":[{"port":53,"protocol":"UDP"}]}`, `{"ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}`},
	{"mounts by path, volumes by name", `{"volumes":[{"name":"v"}],"volumeMounts":[{"mountPath":"/a","name":"v"}]}`, `{"volumes":[{"name":"w"}],"volumeMounts":[{"mountPath":"/a","readOnly":true}]}`, `{"volumes":[{"name":"v"},{"name":"w"}],"volumeMounts":[{"mountPath":"/a","name":"v","readOnly":true}]}`},
	{"other lists are replaced", `{"args":["a","b"]}`, `{"args":["c"]}`, `{"args":["c"]}`},
	{"an item is deleted", `{"env":[{"name":"a"},{"name":"b"}]}`, `{"env":[{"$patch":"delete","name":"a"}]}`, `{"env":[{"name":"b"}]}`},
	{"a list is replaced", `{"env":[{"name":"a"},{"name":"b"}]}`, `{"env":[{"$patch":"replace"},{"name":"c"}]}`, `{"env":[{"name":"c"}]}`},
	{"an object is replaced", `{"a":{"b":1}}`, `{"a":{"$patch":"replace","c":2}}`, `{"a":{"c":2}}`},
	{"an object is deleted", `{"a":{"b":1},"z":1}`, `{"a":{"$patch":"delete"}}`, `{"z":1}`},
	{"keys are retained", `{"v":{"emptyDir":{},"name":"x"}}`, `{"v":{"$retainKeys":["name","hostPath"],"hostPath":{"path":"/"}}}`, `{"v":{"name":"x","hostPath":{"path":"/"}}}`},
	{"an order is set", `{"env":[{"name":"a"},{"name":"b"}]}`, `{"$setElementOrder/env":[{"name":"c"},{"name":"b"},{"name":"a"}],"env":[{"name":"c"}]}`, `{"env":[{"name":"c"},{"name":"b"},{"name":"a"}]}`},
	{"finalizers are added to, and taken from", `{"finalizers":["a","b"]}`, `{"finalizers":["c"],"$deleteFromPrimitiveList/finalizers":["a"]}`, `{"finalizers":["b","c"]}`},
	{"an item without its key is refused", `{}`, `{"env":[{"value":"1"}]}`, "item of env without name not valid"},
	{"an unknown directive is refused", `{}`, `{"a":{"$patch":"shuffle"}}`, "$patch shuffle not valid"},
	{"the whole object can't be deleted", `{"a":1}`, `{"$patch":"delete"}`, "patch that deletes the whole object not valid"},
}

func TestStrategicMerge(t *testing.T) {
	t.Parallel()
	for _, c := range merges {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := strategicMerge(parsed(t, c.object), parsed(t, c.patch))
			switch {
			case !strings.HasPrefix(c.want, "{"):
				if !errors.Is(err, errors.NotValid) || err.Error() != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
			case err != nil:
				t.Error(err)
			case !equal(got, parsed(t, c.want)):
				t.Errorf("got %s, want %s", encode(got), c.want)
			}
		})
	}
}

// FuzzStrategicMerge: a patch is made or refused, leaves the object as it was,
// and made twice is as made once where it only says values.
func FuzzStrategicMerge(f *testing.F) {
	for _, c := range merges {
		f.Add(c.object, c.patch)
	}
	f.Fuzz(func(t *testing.T, o, p string) {
		a, errA := decodeObject([]byte(o))
		patch, errB := decodeObject([]byte(p))
		if errA != nil || errB != nil {
			t.Skip()
		}
		before := string(encode(a))
		once, err := strategicMerge(a, patch)
		if string(encode(a)) != before {
			t.Fatalf("the object has changed, from %s to %s", before, encode(a))
		}
		if err != nil || strings.Contains(string(encode(patch)), "$") {
			return
		}
		again := string(encode(once))
		if twice, err := strategicMerge(once, patch); err != nil || string(encode(twice)) != again {
			t.Fatalf("%s once is %s, twice %s, %v", encode(patch), again, encode(twice), err)
		}
	})
}

func TestApply(t *testing.T) {
	t.Parallel()
	const model = `{"image":"x","containers":[{"name":"charm","image":"c"},{"name":"web","image":"w"}]}`
	for _, c := range []struct {
		name, current, applied, config string
		other                          string // what another manager has applied
		force                          bool
		want                           string
		left                           string // what the other manager has then
	}{
		{name: "what is said is there", config: `{"containers":[{"name":"web","resources":{"limits":{"cpu":"1"}}}]}`,
			want: `{"image":"x","containers":[{"name":"charm","image":"c"},{"name":"web","image":"w","resources":{"limits":{"cpu":"1"}}}]}`},
		{name: "what the model says too is no conflict", config: `{"image":"x"}`, want: model},
		{name: "what the model says otherwise is one", config: `{"containers":[{"name":"web","image":"mine"}]}`,
			want: `Apply failed with 1 conflict: conflict with "juju": .containers[name="web"].image`},
		{name: "but for one that is forced", force: true, config: `{"image":"mine"}`, want: `{"image":"mine","containers":[{"name":"charm","image":"c"},{"name":"web","image":"w"}]}`},
		{name: "what another manager has applied is a conflict", current: `{"a":{"b":1,"c":1}}`, other: `{"a":{"b":1}}`, config: `{"a":{"b":2}}`,
			want: `Apply failed with 1 conflict: conflict with "other": .a.b`},
		{name: "what isn't said any more goes", current: `{"a":{"b":1,"c":1},"env":[{"name":"e","value":"1"},{"name":"f"}]}`,
			applied: `{"a":{"b":1},"env":[{"name":"e","value":"1"}]}`, config: `{"a":{"d":2}}`, want: `{"a":{"c":1,"d":2},"env":[{"name":"f"}]}`},
		{name: "unless another one says it", current: `{"a":{"b":1}}`, applied: `{"a":{"b":1}}`, other: `{"a":{"b":1}}`, config: `{"z":1}`, want: `{"a":{"b":1},"z":1}`},
		{name: "what the model has is again as it has it", current: `{"image":"mine"}`, applied: `{"image":"mine"}`, config: `{"z":1}`, want: `{"image":"x","z":1}`},
		{name: "what is taken by force is the other one's no more", current: `{"a":{"b":1}}`, other: `{"a":{"b":1,"c":2}}`, force: true, config: `{"a":{"b":2}}`,
			want: `{"a":{"b":2}}`, left: `{"a":{"c":2}}`},
		{name: "an empty object takes nothing away", current: `{"a":{"b":1}}`, config: `{"a":{}}`, want: `{"a":{"b":1}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := application{manager: "me", force: c.force, config: parsed(t, c.config), derived: parsed(t, model), applied: map[string]object{}}
			if a.current = a.derived; c.current != "" {
				a.current = parsed(t, c.current)
			}
			if c.applied != "" {
				a.applied["me"] = parsed(t, c.applied)
			}
			if c.other != "" {
				a.applied["other"] = parsed(t, c.other)
			}
			got, err := a.apply()
			if err != nil && err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if err == nil && (!strings.HasPrefix(c.want, "{") || !equal(got, parsed(t, c.want))) {
				t.Errorf("got %s, want %s", encode(got), c.want)
			}
			if c.left != "" && !equal(a.applied["other"], parsed(t, c.left)) {
				t.Errorf("the other one has %s, want %s", encode(a.applied["other"]), c.left)
			}
		})
	}
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text         string
		value, milli int64
	}{
		{"0", 0, 0}, {"1", 1, 1000}, {"500m", 1, 500}, {"0.5", 1, 500}, {".25", 1, 250}, {"1.5", 2, 1500}, {"100u", 1, 1}, {"2.", 2, 2000},
		{"1Gi", 1 << 30, 1 << 30 * 1000}, {"1G", 1e9, 1e12}, {"128Mi", 128 << 20, 128 << 20 * 1000}, {"1e3", 1000, 1e6}, {"1E3", 1000, 1e6}, {"1E", 1e18, math.MaxInt64},
		{"12e-1", 2, 1200}, {"-1", -1, -1000}, {"-500m", 0, -500}, {"0.9Gi", 966367642, 966367641600}, {"1k", 1000, 1e6}, {"9e99", math.MaxInt64, math.MaxInt64},
	} {
		q, err := ParseQuantity(c.text)
		if err != nil || q.Value() != c.value || q.Milli() != c.milli {
			t.Errorf("%s is %d and %d thousandths, %v; want %d and %d", c.text, q.Value(), q.Milli(), err, c.value, c.milli)
		}
	}
	for _, text := range []string{"", "m", "1 Gi", "1gi", "1K", "1Kib", "one", "1e", "1e1000", "--1", "1.2.3", "1Gi5", "0x10", "Inf", "1_000", strings.Repeat("1", 101)} {
		if q, err := ParseQuantity(text); !errors.Is(err, errors.NotValid) {
			t.Errorf("%q is %d, %v", text, q.Value(), err)
		}
	}
}

func FuzzQuantity(f *testing.F) {
	f.Add("500m")
	f.Add("1.5Gi")
	f.Add("-3e10")
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuantity(s)
		if err != nil {
			t.Skip()
		}
		if q.Sign() > 0 && (q.Value() <= 0 || q.Milli() < q.Value() || q.Cmp(Quantity{}) <= 0) {
			t.Errorf("%s is %d, and %d thousandths", s, q.Value(), q.Milli())
		}
	})
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"app.kubernetes.io/name": "web", "tier": "front", "n": "5", "empty": ""}
	for text, want := range map[string]bool{
		"": true, "tier=front": true, "tier==front": true, "tier = back": false, "tier!=back": true, "other!=x": true, "app.kubernetes.io/name=web,tier=front": true,
		"tier in (back, front)": true, "tier notin (front)": false, "other notin (x)": true, "tier": true, "!tier": false, "!other": true, "other": false,
		"n>4": true, "n<5": false, "tier>4": false, "empty=": true, "tier in (front),n": true,
	} {
		sel, err := parseSelector(text)
		if err != nil || sel.selects(labels) != want {
			t.Errorf("%q selects: %v, %v", text, sel.selects(labels), err)
		}
	}
	for _, text := range []string{"=", "a b", "a in", "a in (b", ",", "a,,b", "a=b c", "-a=b", "a=-b", "n>x", "!", "a/b/c=1", "a=" + strings.Repeat("x", 64)} {
		if sel, err := parseSelector(text); !errors.Is(err, errors.NotValid) {
			t.Errorf("%q is taken for %v, %v", text, sel, err)
		}
	}
}

func FuzzSelector(f *testing.F) {
	f.Add("a=b,c!=d", "a")
	f.Add("a in (b,c),!d", "d")
	f.Fuzz(func(t *testing.T, s, label string) {
		sel, err := parseSelector(s)
		if err != nil {
			t.Skip()
		}
		for _, r := range sel { // each is held or not, and its opposite the other way
			opposite := map[string]string{"=": "!=", "in": "notin", "exists": "!"}[r.op]
			labels := map[string]string{label: "x"}
			if opposite != "" && r.holds(labels) == (requirement{r.key, opposite, r.values}).holds(labels) {
				t.Errorf("%v and its opposite", r)
			}
		}
	})
}

func TestFieldSelectors(t *testing.T) {
	t.Parallel()
	pod := parsed(t, `{"metadata":{"name":"web-0","namespace":"m"},"status":{"phase":"Running"}}`)
	for text, want := range map[string]bool{
		"": true, "metadata.name=web-0": true, "metadata.name==web-0,status.phase=Running": true, "metadata.name!=web-0": false, "status.phase=Pending": false,
	} {
		reqs, err := parseFields("pods", text)
		if err != nil || fieldsSelect(reqs, pod) != want {
			t.Errorf("%q selects: %v, %v", text, fieldsSelect(reqs, pod), err)
		}
	}
	for _, text := range []string{"spec.x=1", "metadata.name", "=x"} {
		if _, err := parseFields("pods", text); !errors.Is(err, errors.NotValid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
