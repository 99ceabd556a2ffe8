package service

import (
	"os"
	"path/filepath"
)

// Credential is the file of a credential of this process's service, which only its user can
// read; false: it has none of that name.
func Credential(name string) (path string, ok bool) {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return "", false
	}
	path = filepath.Join(dir, name)
	_, err := os.Stat(path)
	return path, !os.IsNotExist(err)
}
