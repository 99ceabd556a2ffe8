package cli

import (
	"errors"
	"testing"
)

func TestBootstrapSaysWhyItFailedAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	failed := Usagef("no such model")
	for _, tt := range []struct {
		name string
		left error
		want string
	}{
		{"nothing is left", nil, "no such model"},
		{"something is left", errors.New("it is still mounted"), "no such model; and what there is of the controller can't be removed: it is still mounted"},
	} {
		got := undone(failed, tt.left)
		if got.Error() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if !errors.Is(got, failed) {
			t.Errorf("%s: it isn't that error any more", tt.name)
		}
	}
}
