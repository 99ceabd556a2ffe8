// Package oci gets the images of workload containers: it finds out which image
// a reference means, fetches it, and has each of its layers as a directory.
//
//	Parse, ReadSource ──▶ Source ──Resolve (at deploy)──▶ Resolved: reference and digest
//	                                                          │
//	registry, archive, layout, docker ──▶ Cache ◀──Fetch (on each host)
//	                                       │
//	        Image: directories of layers, top first, and what the image says of its process
//
// # The cache
//
// Any number of processes may work with one directory at once:
//
//	blobs/sha256/HEX     what was fetched: manifests, configurations, layers
//	layers/FORM/KEY/fs   a layer, unpacked; KEY is made of its diff id
//	images/HEX.json      what an image consists of; its time is that of its last use
//	locks/               who works at what, and who has which image
//	work/                what isn't whole yet
//
// What has a name in blobs or layers is whole: it was made in work, compared with
// its digest, synced and renamed. A layer doesn't know what is below it, so all
// images that have it share its directory. The directories aren't for other users:
// a layer may have programs that run as root for whoever can reach them.
//
// # Layers
//
// A layer is unpacked in the form in which overlayfs has its layers: what it
// removes is a character device 0/0, and a directory that hides what is below it
// has the attribute "opaque", in the name space trusted or user; see Form.
// Unpacking is ours, as what a layer holds is written by strangers. All paths are
// gone through name by name, from an os.Root, never through a symbolic link; what
// would lead out, or is no part of a root file system, is refused. Device nodes are
// left out, and the layer's record says which: a container has a /dev of its own.
// Where owners are to be ids that this process can't give, Cache.Inside unpacks.
//
// A layer may have a file without the directory that the file is in. Such a
// directory is to have the owner and mode that a layer below gives it, which isn't
// known where the layer is unpacked. So an image of which that is true has one more
// layer, on top, with nothing but those directories.
//
// # What is durable
//
// Blobs and records go through package durable, and so do a layer's sync and its
// rename. What unpacking writes doesn't: those are thousands of steps in a
// directory that nobody takes for a layer, and that the next process clears away.
//
// Source: docs/spec/containers.md §6, §7.1; the formats are those of the Open
// Container Initiative's image specification, version 1.1.
package oci
