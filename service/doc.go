// Package service is what a service manager and a program that it runs have to say to each
// other: that the program is ready, what it is doing, and that it is well; the sockets that the
// manager has opened for it; and the credentials that it has put aside for it.
//
// All of it is in the environment. Where a program wasn't begun by a service manager there is
// nothing, and nothing is said. Source: docs/spec/service-manager.md.
package service
