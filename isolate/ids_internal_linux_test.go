package isolate

import (
	"reflect"
	"strings"
	"testing"

	"github.com/juju/errors"
)

func TestSubordinateIDsAreThoseOfTheUser(t *testing.T) {
	t.Parallel()
	const file = "# mine\nroot:100000:65536\nme:200000:65536\n1000:300000:10\nme:x:5\nme:400000:0\nme:4294967295:2\nfew:7:65535\n"
	for _, c := range []struct {
		rule  string
		names []string
		want  []Range
	}{
		{"by name and by number, and what is no range is passed over", []string{"1000", "me"}, []Range{{Host: 200000, Size: 65536}, {Host: 300000, Size: 10}}},
		{"less than nobody's are none", []string{"few"}, nil},
		{"who isn't there has none", []string{"other"}, nil},
	} {
		got, err := subordinate(strings.NewReader(file), c.names...)
		if !reflect.DeepEqual(got, c.want) || (err != nil) != (c.want == nil) || err != nil && !errors.Is(err, errors.NotFound) {
			t.Errorf("%s: got %v, %v", c.rule, got, err)
		}
	}
}

func TestSubordinateIDsAreMappedFromOneOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		ranges []Range
		want   []Range
	}{
		{"the last one is the user of rocks, which the range doesn't reach", []Range{{Host: 200000, Size: 65536}},
			[]Range{{0, 1000, 1}, {1, 200000, 65535}, {584792, 265535, 1}}},
		{"ranges follow each other", []Range{{Host: 200000, Size: 65536}, {Host: 500000, Size: 10}},
			[]Range{{0, 1000, 1}, {1, 200000, 65536}, {65537, 500000, 9}, {584792, 500009, 1}}},
		{"a range that reaches it is as it is", []Range{{Host: 200000, Size: 600000}}, []Range{{0, 1000, 1}, {1, 200000, 600000}}},
	} {
		ids := IDs{UIDs: mapped(1000, c.ranges), GIDs: mapped(1001, nil)}
		if !reflect.DeepEqual(ids.UIDs, c.want) {
			t.Errorf("%s: got %v, want %v", c.rule, ids.UIDs, c.want)
		}
		for _, id := range []int{0, 1, 170, 65534, 584792, -1} {
			uid, gid := ids.OnHost(id, 0)
			if back, own := ids.Inside(uid, gid); back != id || own != 0 || gid != 1001 || id == 170 && uid != 200169 {
				t.Errorf("%s: %d is %d:%d on the host, and that is %d:%d", c.rule, id, uid, gid, back, own)
			}
		}
	}
}
