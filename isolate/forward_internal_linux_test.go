package isolate

import (
	"fmt"
	"strings"
	"testing"
)

func TestIPv6IsForwardedByAsLittleAsTheKernelAllows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		advised  bool
		each, on bool
		want     string
	}{
		{"each device can", true, true, false, "ipv6/conf/a/force_forwarding=1 ipv6/conf/b/force_forwarding=1"},
		{"all or none", false, false, false, "ipv6/conf/all/forwarding=1"},
		{"who has its routes from routers goes on to take them, before it forwards", true, false, false, "ipv6/conf/b/accept_ra=2 ipv6/conf/all/forwarding=1"},
		{"a host that forwards already knows from whom it takes routes", true, false, true, "ipv6/conf/all/forwarding=1"},
	} {
		var got []string
		for _, s := range settings6([]string{"a", "b"}, map[string]bool{"b": test.advised}, test.each, test.on) {
			got = append(got, fmt.Sprintf("%s=%s", s.name, s.value))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: got %s, want %s", test.name, text, test.want)
		}
	}
}
