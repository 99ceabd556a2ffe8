package tools

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/juju/errors"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestASocketThatWasRemovedIsMadeAgain, however often.
func TestASocketThatWasRemovedIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	for range maxConnections + 1 {
		check(t, os.Remove(s.Addr()))
		check(t, s.Restore())
	}
	info, err := os.Lstat(s.Addr())
	check(t, err)
	mustBe(t, "mode", info.Mode(), os.ModeSocket|0o600)
	id := s.Begin(hookOf(newMemory(), plainHook()))
	mustBe(t, "a call", string(ask(t, s, title(id)).Stdout), "My Title\n")
	check(t, s.Restore())
	again, err := os.Lstat(s.Addr())
	check(t, err)
	if !os.SameFile(info, again) {
		t.Error("a socket that was there was made again")
	}
}

func TestASocketInThePlaceOfTheServersIsReplaced(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	check(t, os.Remove(s.Addr()))
	other, err := net.Listen("unix", s.Addr())
	check(t, err)
	defer other.Close()
	check(t, s.Restore())
	id := s.Begin(hookOf(newMemory(), plainHook()))
	mustBe(t, "a call", string(ask(t, s, title(id)).Stdout), "My Title\n")
}

func TestASocketWhosePlaceIsTakenIsMadeAgainLater(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	check(t, os.Remove(s.Addr()))
	check(t, os.WriteFile(s.Addr(), []byte("precious"), 0o600))
	if err := s.Restore(); !errors.Is(err, errors.AlreadyExists) {
		t.Errorf("error %v", err)
	}
	check(t, os.Remove(s.Addr()))
	check(t, s.Restore())
	id := s.Begin(hookOf(newMemory(), plainHook()))
	mustBe(t, "a call", string(ask(t, s, title(id)).Stdout), "My Title\n")
}

// TestADirectoryOfTheServersOwnIsMadeAgain: of a socket whose path is too long.
func TestADirectoryOfTheServersOwnIsMadeAgain(t *testing.T) {
	t.Parallel()
	s, err := Listen(long(t), quiet())
	check(t, err)
	check(t, os.RemoveAll(filepath.Dir(s.Addr())))
	check(t, s.Restore())
	id := s.Begin(hookOf(newMemory(), plainHook()))
	mustBe(t, "a call", string(ask(t, s, title(id)).Stdout), "My Title\n")
	check(t, s.Close())
	if _, err := os.Stat(filepath.Dir(s.Addr())); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
}
