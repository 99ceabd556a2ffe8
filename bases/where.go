package bases

import (
	"cmp"
	"os"
)

// Variable names the directory of the bases for commands whose data directory isn't that of
// the host: those of the worlds of scripts.
const Variable = "UNITD_BASES"

// Here is the store of the commands of an agent whose directory is dir.
func Here(dir string) Store {
	return Store{Dir: cmp.Or(os.Getenv(Variable), Of(dir).Dir)}
}
