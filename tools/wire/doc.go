// Package wire is what a hook tool and its agent say to each other: one
// request and one reply, each in one piece, over a stream socket.
//
//	request  version u8 · stdin set u8 · head length u32 · stdin length u32
//	         head: context, directory, argument… as length u32 · bytes
//	         stdin
//	reply    version u8 · code i32 · stdout length u32 · stderr length u32
//	         stdout · stderr
//
// Numbers are big-endian. The head is bounded by MaxHead, stdin by MaxStdin;
// a reader takes memory only for what has arrived, never for what is
// announced. The first request carries no stdin unless the client sees that
// the tool will want it; the agent answers NeedStdin if it does after all, and
// the client asks again.
//
// The package is linked into the client of every tool, whose start is each
// hook's time many times over: it imports next to nothing.
//
// Source: docs/spec/hook-tools.md §1.2, docs/spec/latency-measured.md §6.
package wire
