// Save writes the image of the web server as an OCI archive, for who wants to try a
// charm with a container:
//
//	go run ./testcharms/images/save web.tar
//	unitd deploy ./testcharms/webby --resource web-image=oci-archive:web.tar
//
// A file that is there already is replaced. It prints the image's digest.
package main

import (
	"fmt"
	"os"

	"github.com/unitd/unitd/testcharms/images"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: save FILE")
		os.Exit(2)
	}
	if err := save(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "save:", err)
		os.Exit(1)
	}
}

func save(path string) error {
	image, err := images.NewWeb()
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := image.OCI(f, "web:latest"); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Println(digest)
	return nil
}
