package model

// Life says where an entity stands between its creation and its removal
// (seed 000, "Entity lifecycle"). It only ever grows: no entity goes back.
type Life int

// The three lives. An entity that is removed has no document and so no life.
const (
	Alive Life = iota
	Dying
	Dead
)

// String is "alive", "dying" or "dead".
func (l Life) String() string {
	switch l {
	case Alive:
		return "alive"
	case Dying:
		return "dying"
	}
	return "dead"
}
