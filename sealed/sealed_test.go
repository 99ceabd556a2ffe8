package sealed_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/sealed"
)

func generate(t *testing.T) *sealed.Keys {
	t.Helper()
	k, err := sealed.Generate()
	must(t, err)
	return k
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheKeyThatSealsIsChosenByName: of the keys before and after a change either seals.
func TestTheKeyThatSealsIsChosenByName(t *testing.T) {
	t.Parallel()
	old, fresh := generate(t), generate(t)
	both, err := fresh.Before(old)
	must(t, err)
	if both.Name() != fresh.Name() || fresh.Name() == old.Name() {
		t.Errorf("named %s, of %s and %s", both.Name(), fresh.Name(), old.Name())
	}
	led, err := both.Led(old.Name())
	must(t, err)
	text, err := led.Seal([]byte("text"))
	must(t, err)
	if _, err := old.Open(text); err != nil || led.Name() != old.Name() {
		t.Errorf("sealed with another key than %s: %v", led.Name(), err)
	}
	if _, err := fresh.Led(old.Name()); !errors.Is(err, errors.NotFound) {
		t.Errorf("a key that isn't there: %v", err)
	}
	for _, k := range []string{old.Name(), fresh.Name()} {
		if strings.Contains(k, "age1") || len(k) != 32 {
			t.Errorf("the name is %q", k)
		}
	}
}

func TestWhatIsSealedIsOpenedByItsKeyAlone(t *testing.T) {
	t.Parallel()
	k, other := generate(t), generate(t)
	text, err := k.Seal([]byte("the plain text"))
	must(t, err)
	if strings.Contains(string(text), "plain") {
		t.Error("it is there in clear")
	}
	plain, err := k.Open(text)
	must(t, err)
	if string(plain) != "the plain text" {
		t.Errorf("opened: %q", plain)
	}
	if _, err := other.Open(text); !errors.Is(err, sealed.ErrWrongKey) {
		t.Errorf("another key: %v", err)
	}
	text[len(text)-1] ^= 1
	if plain, err := k.Open(text); err == nil {
		t.Errorf("damaged: %q", plain)
	}
}

func TestAKeyIsChanged(t *testing.T) {
	t.Parallel()
	old, fresh := generate(t), generate(t)
	before, err := old.Seal([]byte("x"))
	must(t, err)
	both, err := fresh.Before(old)
	must(t, err)
	if _, err := both.Open(before); err != nil {
		t.Errorf("the old key doesn't open any more: %v", err)
	}
	after, err := both.Seal([]byte("x"))
	must(t, err)
	newest, err := both.Newest()
	must(t, err)
	if _, err := newest.Open(after); err != nil {
		t.Errorf("it wasn't sealed with the new key: %v", err)
	}
	if _, err := newest.Open(before); !errors.Is(err, sealed.ErrWrongKey) {
		t.Errorf("the old key is still there: %v", err)
	}
}

func TestTheKeyFileIsMadeOnceAndForItsOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	texts := make([][]byte, 8)
	var wait sync.WaitGroup
	for i := range texts {
		wait.Add(1)
		go func() {
			defer wait.Done()
			k, err := sealed.ReadOrMake(path)
			if err == nil {
				texts[i], err = k.Seal([]byte("x"))
			}
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	k, err := sealed.ReadFile(path)
	must(t, err)
	for _, text := range texts {
		if _, err := k.Open(text); err != nil {
			t.Errorf("another key was used: %v", err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("there are %v", entries)
	}
	must(t, os.Chmod(path, 0o640))
	if _, err := sealed.ReadFile(path); !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("readable for others: %v", err)
	}
}

func TestAnErrorOfAKeyDoesNotShowIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "AGE-SECRET-KEY-1WRONG", "# only a comment\n", "age1publickey"} {
		_, err := sealed.Parse(text)
		if !errors.Is(err, errors.NotValid) || strings.Contains(err.Error(), "WRONG") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
