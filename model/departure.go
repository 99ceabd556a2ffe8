package model

// Departure says why a unit goes, or why what it was told of does. It is what
// hooks find in UNITD_DEPARTURE.
type Departure string

// The departures. Empty: nobody knows.
const (
	UnitRemoved        Departure = "unit-removed"
	ApplicationRemoved Departure = "application-removed"
	RelationRemoved    Departure = "relation-removed"
	RelationSuspended  Departure = "relation-suspended"
	StorageDetached    Departure = "storage-detached"
	// Forced: the unit was removed by force, without its hooks.
	Forced Departure = "forced"
)
