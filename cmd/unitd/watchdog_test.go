package main_test

import (
	"testing"

	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// TestHostAnAgentWhoseStoreDoesNotAnswerIsNotWell halts a real etcd: the agent says so, and
// doesn't reset the watchdog before etcd goes on.
func TestHostAnAgentWhoseStoreDoesNotAnswerIsNotWell(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	s := newServed(t)
	path, manager := s.socket("notify")
	cmd, said := s.start([]string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=400000", "UNITD_STORE=etcd://" + etcd.Endpoint + "/unitd"}, "agent")
	s.until(manager, "READY=1")
	s.until(manager, "WATCHDOG=1")
	if err := etcd.Halt(); err != nil {
		t.Fatal(err)
	}
	wrong := s.until(manager, "STATUS=the store can't be ")
	if err := etcd.Resume(); err != nil {
		t.Fatal(err)
	}
	for _, next := range s.until(manager, "STATUS=runs ") {
		if next == "WATCHDOG=1" {
			t.Errorf("after %q it is well", wrong)
		}
	}
	s.until(manager, "WATCHDOG=1")
	s.end(cmd, said)
}
