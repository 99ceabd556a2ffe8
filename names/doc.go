// Package names says by which names the units of models find each other: those
// that Kubernetes gives to pods and services. They are rendered as hosts files,
// one for each machine of a unit's own, and as /etc/resolv.conf.
//
// Names are kept in hosts files and not told by a server for two reasons. What runs
// in a unit goes on when its agent is restarted or killed, and so must its names. And
// two servers can't be had side by side: of the C library's resolvers one (musl's)
// asks all servers at once and takes the first answer, which would be that of the
// host's, who knows nothing. Hosts files may have many addresses for one name:
// glibc, musl and what is built on them give all, in the file's order. What is lost
// is what asks name servers by itself, without the system: dig, or a proxy with a
// resolver of its own.
//
// Everything here is pure. Source: docs/spec/containers.md §5.5.
package names
