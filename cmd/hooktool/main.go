// Hooktool is the client that the name of every hook tool links to. It hands
// its arguments to the unit's agent and prints what comes back; see package
// tools/client.
package main

import (
	"os"

	"github.com/unitd/unitd/tools/client"
)

func main() { os.Exit(client.Main(os.Args)) }
