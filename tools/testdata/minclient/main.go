// Minclient is what a hook tool's client can't be smaller than: it makes one
// fixed call over the agent's socket and prints the reply. It is the yardstick
// of the benchmarks.
package main

import (
	"os"
	"syscall"
)

func main() {
	id, _ := syscall.Getenv("JUJU_CONTEXT_ID")
	address, _ := syscall.Getenv("JUJU_AGENT_SOCKET_ADDRESS")
	var head []byte
	for _, s := range []string{id, "/", "config-get", "title"} {
		head = append(head, 0, 0, 0, byte(len(s)))
		head = append(head, s...)
	}
	request := append([]byte{1, 0, 0, 0, 0, byte(len(head)), 0, 0, 0, 0}, head...)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil || syscall.Connect(fd, &syscall.SockaddrUnix{Name: address}) != nil {
		os.Exit(1)
	}
	if _, err := syscall.Write(fd, request); err != nil {
		os.Exit(1)
	}
	var reply [4096]byte
	n, err := syscall.Read(fd, reply[:])
	const header = 13
	if err != nil || n < header {
		os.Exit(1)
	}
	syscall.Write(1, reply[header:n])
	os.Exit(int(reply[4]))
}
