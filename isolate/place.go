package isolate

// PlaceCommand is the first argument by which this program runs another one that
// finds a directory at a path of its own; see Placed and Main.
const PlaceCommand = "--place"
