package state_test

import "os"

// long: the tests may take minutes.
var long = os.Getenv("UNITD_TEST_LONG") != ""
