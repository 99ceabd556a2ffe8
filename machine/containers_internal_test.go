package machine

import (
	"testing"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/oci"
)

// TestAFetchIsProgressThatWorldsSee, and agents without a world do as well.
func TestAFetchIsProgressThatWorldsSee(t *testing.T) {
	t.Parallel()
	c := &Containers{}
	cache := c.images(t.TempDir(), durable.Disk{})
	for want := range int64(3) {
		if got := c.Fetched(); got != want {
			t.Errorf("it is %d after %d times", got, want)
		}
		cache.Progress(oci.Progress{Fetched: want})
	}
	if none := (*Containers)(nil).images(t.TempDir(), durable.Disk{}); none.Progress != nil {
		t.Error("somebody is told where nobody asks")
	}
}
