package oci

import (
	"io"
	"log"
)

func nowhere() *log.Logger { return log.New(io.Discard, "", 0) }
