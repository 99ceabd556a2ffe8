// Package web makes what a browser shows of a check's report: a page for people who look
// at what CI has kept, and a badge for a README.
//
// Each of them is one file, which needs no network. The page has the style of package page. All of
// it can be read without scripts, and by people who can't tell colours apart. A report contains
// text from charms, so whatever isn't markup is escaped. docs/check.md says what the page is for.
package web
