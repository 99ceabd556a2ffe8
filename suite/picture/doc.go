// Command picture makes a picture of a terminal session from a real run of it:
//
//	picture SESSION.txt PICTURE.svg
//
// Each line of the session is a command. It is run by a shell on a terminal of
// its own (by script(1), so on Linux), and the picture shows the line and what
// the terminal had on it at the end: colours stay, and a line that was written
// over shows its last text. "make picture" makes docs/session.svg.
package main
