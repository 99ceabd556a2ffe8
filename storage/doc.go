// Package storage has on this host what units are given as storage: a
// directory, memory, or an image in a file. Which there are is the model's
// matter; here they are provided, let go and removed.
//
//	Dir/data-0/record.json   what is, or is about to be, mounted for it, and where
//	Dir/data-0/fs            the file system, or where it is mounted
//	Dir/data-0/image         the image of a loop device
//
// The record is written before anything is done to the host, and every step can
// be done again: whoever is cut off in one goes on with it. A directory can
// always be had; all else needs leave to mount, which only root on Linux has.
package storage
