//go:build !linux

package runner

// Reaper makes this process the parent of what its programs leave behind, on
// Linux. There is none here: it is always nil, and init is.
type Reaper struct{}

// Adopt is nil: there is none here.
func Adopt() *Reaper { return nil }

// AdoptAgain is Adopt for a process that was another program before.
func AdoptAgain([]int) *Reaper { return nil }

// Close does nothing.
func (*Reaper) Close() {}

func (*Reaper) spare(int) (release func()) { return func() {} }

// LetGo does nothing.
func (*Reaper) LetGo(int) {}

// awaitEnd is for systems on which a process can become another program and go on.
func awaitEnd(int) bool { return false }
