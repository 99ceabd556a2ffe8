package isolate

import "testing"

func TestARangeOfIdsIsNobodyElses(t *testing.T) {
	t.Parallel()
	others := ranges{{100000, 165535}, {600000, 600000}, {655360, 720895}}
	for first, want := range map[int]bool{
		524288: false, // 600000 is no id of the first range,
		589824: true,  // but of the second
		655360: true, 720896: false,
	} {
		if got := others.overlap(first); got != want {
			t.Errorf("from %d on: %v, want %v", first, got, want)
		}
	}
	all := numbers(524288)
	ids := IDs{UIDs: all, GIDs: all}
	for inside, want := range map[int]int{0: 524288, 65534: 524288 + 65534, 584792: 524288 + 65535, 65535: 65535} {
		if got, _ := ids.OnHost(inside, 0); got != want {
			t.Errorf("%d is %d on the host, want %d", inside, got, want)
		}
	}
}
