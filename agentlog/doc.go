// Package agentlog is an agent's own log, about what doesn't belong to one model: in which form
// it is, where it goes, and how the file of an agent in the background is set aside when it is
// full.
//
//	slog.Logger ──▶ File (an agent in the background) ──▶ text, logfmt or JSON ──▶ stderr
//	           └──▶ journald, where that was asked for or systemd has connected stderr with it
//
// What a process prints to its standard error by itself, such as a panic, goes where stderr
// goes in either case.
package agentlog
