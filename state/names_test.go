package state_test

import "testing"

func TestNamesOfAModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	w.deploy(wordpress, 1)
	w.relate("wordpress", "mysql")
	for word, want := range map[string]bool{
		"admin": true, w.Name(): true, w.UUID(): true, "mysql": true, "wordpress/0": true, "unit-wordpress-0": true,
		"server": true, "db": true, // its own endpoint, and the other one's
		"mysql/7": false, "unit-mysql-7": false, "hunter2": false, "": false, "unit-": false, "mysql wordpress": false,
	} {
		if got, err := w.IsName(w.ctx, "mysql", word); err != nil || got != want {
			t.Errorf("%q: %v, %v", word, got, err)
		}
	}
	if got, err := w.IsName(w.ctx, "gone", "server"); err != nil || got {
		t.Errorf("an application that is gone: %v, %v", got, err)
	}
}
